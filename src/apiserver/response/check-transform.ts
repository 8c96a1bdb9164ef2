/** Refuses a Table or PartialObjectMetadata for responses that cannot be converted to it. */

import type { Status } from "#api/generated/meta.v1.ts";
import type { Kind } from "#api/kind.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { badRequestStatus, notAcceptableStatus } from "#api/meta/status.ts";
import { internalPackageOf } from "../request/internal-package.ts";
import type { AnswerBody } from "./answer.ts";
import type { Media } from "./negotiate.ts";

const INCLUDES: ReadonlySet<string> = new Set(["", "Metadata", "Object", "None"]);

/** Undefined: it can. */
export function refuseTransform(
  body: AnswerBody,
  { as }: Media,
  query: URLSearchParams,
): Status | undefined {
  if (as === undefined) return undefined;
  if (as.kind === "Table") {
    const include = query.get("includeObject") ?? "";
    if (INCLUDES.has(include)) return undefined;
    const error = `Invalid value: ${goQuote(include)}: must be 'Metadata', 'Object', 'None', or empty`;
    return badRequestStatus(`Unable to convert to Table as requested: includeObject: ${error}`);
  }
  if (body.form === "list" && as.kind === "PartialObjectMetadata") {
    const type = `*${goTypeOf(body.list.kind, body.list.kind.names.list)}`;
    return refused(
      `you requested PartialObjectMetadata, but the requested object is a list (${type})`,
    );
  }
  if (body.form === "object" && as.kind === "PartialObjectMetadataList") {
    const type = `*${goTypeOf(body.object.kind, body.object.kind.names.kind)}`;
    return refused(
      `you requested PartialObjectMetadataList, but the requested object is not a list (${type})`,
    );
  }
  return undefined;
}

/** `core.ConfigMap`: the type without its version, as upstream handles it inside. */
function goTypeOf(kind: Kind, name: string): string {
  return `${internalPackageOf(kind.schema())}.${name}`;
}

function refused(message: string): Status {
  return { ...notAcceptableStatus([]), message };
}
