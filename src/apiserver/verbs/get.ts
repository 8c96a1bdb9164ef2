/** GET of one object. */

import { goQuote } from "#api/meta/go-quote.ts";
import { failure, notFoundStatus, type Result, success, unknownStatus } from "#api/meta/status.ts";
import { type FieldError, invalid } from "#api/validation/field-error.ts";
import { formatFieldError } from "#api/validation/format-field-error.ts";
import { Path } from "#api/validation/path.ts";
import { keyOf } from "../resources.ts";
import type { Revision } from "../revision.ts";
import { groupResourceOf, type VerbRequest, type VerbResult } from "../verb.ts";

export async function get(verb: VerbRequest): Promise<VerbResult> {
  const { resource, info, request, parts } = verb;
  const asked = request.query.get("resourceVersion") ?? "";
  if (asked !== "") {
    const revision = parseResourceVersion(asked);
    if (!revision.ok) return revision;
    const reached = await parts.objects.notOlderThan(revision.value);
    if (!reached.ok) return reached;
    const cached = parts.objects
      .cacheOf(resource.stored)
      .get(keyOf(resource.stored, info.namespace, info.name));
    if (cached === undefined) return notFound(verb);
    return success({ code: 200, body: { form: "object", object: cached.as(resource.kind) } });
  }
  const found = await readObject(verb);
  if (!found.ok) return found;
  return success({ code: 200, body: { form: "object", object: found.value.as(resource.kind) } });
}

/** The object that the request names, as it is now, in the stored version. */
export async function readObject(verb: VerbRequest): Promise<Result<Revision>> {
  const { resource, info, parts } = verb;
  const { stored } = resource;
  const found = await parts.objects.read(stored, keyOf(stored, info.namespace, info.name));
  if (!found.ok) return found;
  return found.value === undefined ? notFound(verb) : success(found.value);
}

export function notFound({ resource, info }: VerbRequest): Result<never> {
  return failure(notFoundStatus(groupResourceOf(resource), info.name));
}

/** "" and "0" mean: any. */
export function parseResourceVersion(text: string): Result<number> {
  if (text === "") return success(0);
  if (/^\d+$/.test(text)) return success(Number(text));
  return failure(unknownStatus(`resourceVersion: ${formatFieldError(versionFault(text))}`));
}

export function versionFault(text: string): FieldError {
  const error = `strconv.ParseUint: parsing ${goQuote(text)}: invalid syntax`;
  return invalid(Path.of("resourceVersion"), text, error);
}
