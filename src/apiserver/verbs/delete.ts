/** DELETE of one object: graceful, finalized, or at once. */
import type { DeleteOptions, Status } from "#api/generated/meta.v1.ts";
import { conflictStatus, failure, type Result, success } from "#api/meta/status.ts";
import { admissionRequest } from "../admission/admission-request.ts";
import { decodeDeleteOptions } from "../request/decode-delete-options.ts";
import { groupResourceOf, hooksOf, type VerbRequest, type VerbResult } from "../request/verb.ts";
import { keyOf } from "../storage/resources.ts";
import { Revision } from "../storage/revision.ts";
import { type DeleteDecision, decideDelete } from "../write/decide-delete.ts";
import { finishObject } from "../write/write-rules.ts";
import { notFound } from "./get.ts";

export async function deleteOne(verb: VerbRequest): Promise<VerbResult> {
  const options = decodeDeleteOptions(verb.request);
  if (!options.ok) return options;
  tellOptions(verb, options.value);
  const { resource } = verb;
  const rules = resource.stored.kind.deletion ?? {};
  for (const warning of rules.warnings?.(options.value) ?? []) verb.warn(warning);
  const deleted = await deleteObject(verb, verb.info.namespace, verb.info.name, options.value);
  if (!deleted.ok) return deleted;
  const { revision, gone } = deleted.value;
  const code = !gone && options.value.orphanDependents === false ? 202 : 200;
  if (!gone || rules.returnsObject) {
    return success({ code, body: { form: "object", object: revision.as(resource.kind) } });
  }
  return success({ code, body: { form: "value", value: deletedStatus(verb, revision) } });
}

/** Those that came in a body. */
export function tellOptions({ request, sent }: VerbRequest, options: DeleteOptions): void {
  if (request.body.form !== "bytes" || request.body.bytes.length === 0) return;
  const apiVersion = "meta.k8s.io/__internal"; // what upstream's log calls it
  sent?.({ ...options, kind: "DeleteOptions", apiVersion });
}

export interface Deleted {
  /** Its last state, or its state now if it is still there. */
  readonly revision: Revision;
  readonly gone: boolean;
}

export async function deleteObject(
  verb: VerbRequest,
  namespace: string,
  name: string,
  options: DeleteOptions,
): Promise<Result<Deleted>> {
  const { parts, resource } = verb;
  const { stored } = resource;
  const key = keyOf(stored, namespace, name);
  const dryRun = (options.dryRun ?? []).length > 0;
  const found = await parts.objects.read(stored, key);
  if (!found.ok) return found;
  let current = found.value;
  for (;;) {
    if (current === undefined) return notFound({ ...verb, info: { ...verb.info, name } });
    const conflict = checkPreconditions(verb, current, options);
    if (conflict !== undefined) return failure(conflict);
    const refusal = await admitDelete(verb, current, options, dryRun);
    if (refusal !== undefined) return failure(refusal);
    const decision = decideDelete(
      current.value,
      options,
      stored.kind.deletion ?? {},
      parts.clock.nowMs(),
    );
    const step = await carryOut(verb, current, decision, dryRun);
    if (!step.ok) return step;
    if (step.value.outcome === "done") return success(step.value);
    current = step.value.current;
  }
}

type Step = Result<
  | ({ readonly outcome: "done" } & Deleted)
  | { readonly outcome: "conflict"; readonly current: Revision | undefined }
>;

async function carryOut(
  verb: VerbRequest,
  current: Revision,
  decision: DeleteDecision,
  dryRun: boolean,
): Promise<Step> {
  const { objects } = verb.parts;
  const { stored } = verb.resource;
  if (decision.action === "pending") {
    return success({ outcome: "done", revision: current, gone: false });
  }
  let last = current;
  if (decision.action !== "remove") {
    const finished = finishObject(stored.kind, decision.object);
    if (!finished.ok) return finished;
    if (dryRun) {
      const { key, number } = current;
      const revision = Revision.fromValue(stored.kind, key, number, finished.value);
      return success({ outcome: "done", revision, gone: decision.action === "mark-and-remove" });
    }
    const wrote = await objects.replace(stored, current.key, current, finished.value);
    if (!wrote.ok) return wrote;
    if (wrote.value.outcome === "conflict") return success(wrote.value);
    last = wrote.value.revision;
    if (decision.action === "mark")
      return success({ outcome: "done", revision: last, gone: false });
  }
  if (dryRun) return success({ outcome: "done", revision: last, gone: true });
  const removed = await objects.remove(stored, current.key, last);
  if (!removed.ok) return removed;
  if (removed.value.outcome === "written") {
    await hooksOf(verb)?.afterDelete(last.value);
    return success({ outcome: "done", revision: removed.value.revision, gone: true });
  }
  // Marked by us, removed by someone else: it is gone, which is what was asked for.
  if (removed.value.current === undefined && last !== current) {
    return success({ outcome: "done", revision: last, gone: true });
  }
  return success(removed.value);
}

async function admitDelete(
  verb: VerbRequest,
  current: Revision,
  options: DeleteOptions,
  dryRun: boolean,
): Promise<Status | undefined> {
  const { parts, info } = verb;
  if (info.subresource !== "") return undefined; // an eviction was admitted as such
  const { name = "", namespace = "" } = current.value.metadata;
  const request = admissionRequest(verb, {
    operation: "DELETE",
    object: undefined,
    old: current.value,
    options: { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1", ...options },
    dryRun,
    place: { namespace, name },
  });
  const admitted = await parts.admission.admit(request);
  return admitted.ok ? await parts.admission.validate(request) : admitted.status;
}

function checkPreconditions(
  { resource }: VerbRequest,
  current: Revision,
  { preconditions }: DeleteOptions,
): Status | undefined {
  const { uid = "", name = "" } = current.value.metadata;
  const { plural, kind } = resource.kind.names;
  // Kinds that are deleted in steps check by themselves, in words of their own.
  const inSteps = IN_STEPS.has(plural);
  const subject = { group: resource.kind.group, resource: inSteps ? plural : kind };
  if (preconditions?.uid !== undefined && preconditions.uid !== uid) {
    const why = inSteps
      ? `Precondition failed: UID in precondition: ${preconditions.uid}, UID in object meta: ${uid}`
      : `the UID in the precondition (${preconditions.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`;
    return conflictStatus(subject, name, why);
  }
  const asked = preconditions?.resourceVersion;
  if (asked !== undefined && asked !== String(current.number)) {
    const why = inSteps
      ? `Precondition failed: ResourceVersion in precondition: ${asked}, ResourceVersion in object meta: ${current.number}`
      : `the ResourceVersion in the precondition (${asked}) does not match the ResourceVersion in record (${current.number}). The object might have been modified`;
    return conflictStatus(subject, name, why);
  }
  return undefined;
}

const IN_STEPS: ReadonlySet<string> = new Set(["namespaces", "customresourcedefinitions"]);

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
