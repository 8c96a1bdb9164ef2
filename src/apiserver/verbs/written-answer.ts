/** The answer to a write: the object as it was stored, in the version of the request. */
import { type Result, success } from "#api/meta/status.ts";
import { andThen, type MaybePromise } from "#lib/async/maybe-promise.ts";
import type { VerbRequest, VerbResult } from "../request/verb.ts";
import { revisionAs } from "../storage/convert.ts";
import type { Written } from "../write/store-object.ts";

export function writtenAnswer(
  { resource }: VerbRequest,
  written: Result<Written>,
): MaybePromise<VerbResult> {
  if (!written.ok) return written;
  const { revision, created } = written.value;
  return andThen(revisionAs(resource.kind, revision), (object) => {
    if (!object.ok) return object;
    return success({ code: created ? 201 : 200, body: { form: "object", object: object.value } });
  });
}
