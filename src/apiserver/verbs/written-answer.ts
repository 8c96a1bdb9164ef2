/** The answer to a write: the object as it was stored, in the version of the request. */
import { type Result, success } from "#api/meta/status.ts";
import type { VerbRequest, VerbResult } from "../request/verb.ts";
import { revisionAs } from "../storage/convert.ts";
import type { Written } from "../write/store-object.ts";

export async function writtenAnswer(
  { resource }: VerbRequest,
  written: Result<Written>,
): Promise<VerbResult> {
  if (!written.ok) return written;
  const { revision, created } = written.value;
  const converted = revisionAs(resource.kind, revision);
  const object = converted instanceof Promise ? await converted : converted;
  if (!object.ok) return object;
  return success({ code: created ? 201 : 200, body: { form: "object", object: object.value } });
}
