/** Checks the preconditions of an update: uid and resourceVersion of the client's object. */
import type { Status } from "#api/generated/meta.v1.ts";
import type { Draft, KubeObject } from "#api/kind.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import {
  conflictStatus,
  failure,
  invalidStatus,
  type Result,
  success,
  unknownStatus,
} from "#api/meta/status.ts";
import { invalid } from "#api/validation/field-error.ts";
import { Path } from "#api/validation/path.ts";
import type { WriteOptions } from "../request/query-options.ts";
import { groupResourceOf, type VerbRequest } from "../request/verb.ts";
import type { Revision } from "../storage/revision.ts";
import { preconditionFailed } from "./precondition-failed.ts";

const CHANGED =
  "the object has been modified; please apply your changes to the latest version and try again";

/** The resourceVersion that the client has seen must be the current one, if it says any. */
export function checkVersion(
  verb: VerbRequest,
  draft: Draft<KubeObject>,
  current: Revision,
): Result<undefined> {
  const { resource, info } = verb;
  const said = draft.metadata.resourceVersion ?? "";
  const subject = groupResourceOf(resource);
  if (said === "" || said === "0") {
    if (resource.stored.kind.unconditionalUpdate) {
      draft.metadata.resourceVersion = String(current.number);
      return success(undefined);
    }
    const path = Path.of("metadata", "resourceVersion");
    const errors = [invalid(path, 0, "must be specified for an update")];
    const kind = { group: subject.group, kind: subject.resource };
    return failure(invalidStatus(kind, info.name, errors));
  }
  if (!/^\d+$/.test(said)) {
    return failure(unknownStatus(`strconv.ParseUint: parsing ${goQuote(said)}: invalid syntax`));
  }
  if (said === String(current.number)) return success(undefined);
  return failure(conflictStatus(subject, info.name, CHANGED));
}

/** It is another object than the one that was meant. */
export function uidMismatch(
  verb: VerbRequest,
  { options, uid }: { readonly options: WriteOptions; readonly uid: string | undefined },
  key: string,
  there: string,
): Status {
  const { dryRun } = options;
  const why = preconditionFailed({ field: "UID", asked: uid ?? "", there, key, dryRun });
  return conflictStatus(groupResourceOf(verb.resource), verb.info.name, why);
}
