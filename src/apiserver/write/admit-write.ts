/** Admission requests of the write path: about the object, or about the view that a sub-resource has of it. */
import type { Status } from "#api/generated/meta.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { failure, type Result, success } from "#api/meta/status.ts";
import {
  type AdmissionRequest,
  type AdmissionWrite,
  admissionRequest,
  targetOf,
} from "../admission/admission-request.ts";
import type { VerbRequest } from "../request/verb.ts";
import { fromStoredVersion } from "../storage/convert.ts";
import type { ObjectWrite, SubresourceView } from "./object-write.ts";

/**
 * Both steps of admission for what is not stored: deletes, connections, and creates that are only
 * answered (reviews, bindings, evictions, tokens). `validate` is called between the two.
 */
export async function admitOnly<Written extends KubeObject | undefined>(
  verb: VerbRequest,
  write: AdmissionWrite<Written>,
  validate?: (object: Written) => Status | undefined,
): Promise<Result<Written>> {
  const { admission } = verb.parts;
  const request = admissionRequest(verb, write);
  const admitted = await admission.admit(request);
  if (!admitted.ok) return admitted;
  const object = admitted.value;
  const refusal = validate?.(object) ?? (await admission.validate({ ...request, object }));
  return refusal === undefined ? admitted : failure(refusal);
}

export async function viewRequest(
  verb: VerbRequest,
  write: ObjectWrite,
  draft: KubeObject,
  old: KubeObject,
  view: SubresourceView,
): Promise<Result<AdmissionRequest>> {
  const { kind } = verb.resource;
  const next = await fromStoredVersion(kind, draft);
  if (!next.ok) return next;
  const before = await fromStoredVersion(kind, old);
  if (!before.ok) return before;
  return success(requestFor(verb, write, view.of(next.value), view.of(before.value)));
}

export function requestFor<Written extends KubeObject>(
  verb: VerbRequest,
  { change, options, view }: ObjectWrite,
  object: Written,
  old: KubeObject | undefined,
): AdmissionRequest<Written> {
  return admissionRequest(verb, {
    operation: old === undefined ? "CREATE" : "UPDATE",
    object,
    old,
    options: options.raw,
    dryRun: options.dryRun,
    place: change.form === "create" ? placeOf(verb, object) : undefined,
    type: view === undefined ? undefined : targetOf(view.kind).kind,
  });
}

/** New objects, and those that are deleted, say themselves where they are. A namespace is in itself. */
export function placeOf(
  { resource }: VerbRequest,
  { metadata: { name = "", namespace = "" } }: KubeObject,
): { readonly namespace: string; readonly name: string } {
  const { group, names } = resource.kind;
  const isNamespace = group === "" && names.plural === "namespaces";
  return { namespace: isNamespace ? name : namespace, name };
}
