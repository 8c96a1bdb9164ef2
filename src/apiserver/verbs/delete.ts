/** DELETE of one object: graceful, finalized, or at once. */
import type { DeleteOptions, Status } from "#api/generated/meta.v1.ts";
import { failure, forbiddenStatus, success } from "#api/meta/status.ts";
import { decodeDeleteOptions } from "../request/decode-delete-options.ts";
import { groupResourceOf, type VerbRequest, type VerbResult } from "../request/verb.ts";
import { revisionAs } from "../storage/convert.ts";
import type { Revision } from "../storage/revision.ts";
import { deleteObject } from "../write/write-object.ts";

export async function deleteOne(verb: VerbRequest): Promise<VerbResult> {
  const options = decodeDeleteOptions(verb.request);
  if (!options.ok) return options;
  auditDeleteOptions(verb, options.value);
  const { resource } = verb;
  const rules = resource.stored.kind.deletion ?? {};
  const refusal = rules.refusal?.(verb.info.name);
  if (refusal !== undefined) {
    return failure(forbiddenStatus(groupResourceOf(resource), verb.info.name, refusal));
  }
  for (const warning of rules.warnings?.(options.value) ?? []) verb.warn(warning);
  const deleted = await deleteObject(verb, verb.info.namespace, verb.info.name, options.value);
  if (!deleted.ok) return deleted;
  const { revision, gone } = deleted.value;
  const code = !gone && options.value.orphanDependents === false ? 202 : 200;
  if (!gone || rules.returnsObject) {
    const object = await revisionAs(resource.kind, revision);
    return object.ok ? success({ code, body: { form: "object", object: object.value } }) : object;
  }
  return success({ code, body: { form: "value", value: deletedStatus(verb, revision) } });
}

/** Logs the DeleteOptions of the body as audit's requestObject. */
export function auditDeleteOptions({ request, sent }: VerbRequest, options: DeleteOptions): void {
  if (request.body.form !== "bytes" || request.body.bytes.length === 0) return;
  const apiVersion = "meta.k8s.io/__internal"; // what upstream's log calls it
  sent?.({ ...options, kind: "DeleteOptions", apiVersion });
}

function deletedStatus({ resource }: VerbRequest, revision: Revision): Status {
  const { group, resource: kind } = groupResourceOf(resource);
  const { name = "", uid = "" } = revision.value.metadata;
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { name, ...(group === "" ? {} : { group }), kind, uid },
  };
}
