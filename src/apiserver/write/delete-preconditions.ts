/** Checks the preconditions of DeleteOptions: uid and resourceVersion. */
import type { DeleteOptions, Status } from "#api/generated/meta.v1.ts";
import { conflictStatus } from "#api/meta/status.ts";
import type { ServedResource } from "../storage/resources.ts";
import type { Revision } from "../storage/revision.ts";

export function checkDeletePreconditions(
  resource: ServedResource,
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
