/** Who owns the claims of a StatefulSet's pods: what the retention policy says, unless others do. */

import type { StatefulSet } from "#api/generated/apps.v1.ts";
import type { PersistentVolumeClaim, Pod } from "#api/generated/core.v1.ts";
import type { OwnerReference } from "#api/generated/meta.v1.ts";
import { statefulSetKind } from "#api/kinds/apps/v1/stateful-set.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import type { EventNote } from "#runtime/controller.ts";
import { controllerReference } from "../shared/ownership.ts";
import { isInRange, ordinalOf } from "./identity.ts";

/**
 * Who should own a claim under the set's retention policy; undefined if the claim is fine as it is
 * or has another controller.
 */
export function repairedClaim(
  set: StatefulSet,
  pod: Pod,
  claim: PersistentVolumeClaim,
): PersistentVolumeClaim | undefined {
  const { references, ofSet, ofPod, others, isStale } = ownersOf(set, pod, claim);
  if (isStale) return undefined;
  const wanted = others.some(isController) ? [] : wantedOwners(set, pod);
  const isRight =
    ofSet.length + ofPod.length === wanted.length &&
    wanted.every(({ uid }) => references.some((r) => r.uid === uid && r.controller === true));
  if (isRight) return undefined;
  return { ...claim, metadata: { ...claim.metadata, ownerReferences: [...others, ...wanted] } };
}

/** A claim that is controlled by another object, or by an earlier set or pod of the same name. */
export function conflictOf(
  set: StatefulSet,
  pod: Pod,
  claim: PersistentVolumeClaim,
): EventNote | undefined {
  const { whenDeleted, whenScaled } = retentionOf(set);
  if (whenDeleted === "Retain" && whenScaled === "Retain") return undefined;
  const { others, isStale } = ownersOf(set, pod, claim);
  if (!isStale && !others.some(isController)) return undefined;
  const message =
    `PersistentVolumeClaim ${claim.metadata.name} has a conflicting OwnerReference that acts as ` +
    "a manging controller, the retention policy is ignored for this claim";
  return { about: set, type: "Warning", reason: "ConflictingController", message };
}

function ownersOf(set: StatefulSet, pod: Pod, { metadata }: PersistentVolumeClaim) {
  const references = metadata.ownerReferences ?? [];
  const ofSet = references.filter((r) => r.kind === "StatefulSet" && r.name === set.metadata.name);
  const ofPod = references.filter((r) => r.kind === "Pod" && r.name === pod.metadata.name);
  const isStale =
    ofSet.some(({ uid }) => uid !== set.metadata.uid) ||
    ofPod.some(({ uid }) => uid !== pod.metadata.uid);
  const others = references.filter((r) => !ofSet.includes(r) && !ofPod.includes(r));
  return { references, ofSet, ofPod, others, isStale };
}

function isController({ controller }: OwnerReference): boolean {
  return controller === true;
}

function retentionOf({ spec }: StatefulSet): { whenDeleted: string; whenScaled: string } {
  const { whenDeleted = "Retain", whenScaled = "Retain" } =
    spec.persistentVolumeClaimRetentionPolicy ?? {};
  return { whenDeleted, whenScaled };
}

function wantedOwners(set: StatefulSet, pod: Pod): readonly OwnerReference[] {
  const { whenDeleted, whenScaled } = retentionOf(set);
  const scaledDown = !isInRange(set, ordinalOf(set, pod));
  if (whenScaled === "Delete" && scaledDown) return [controllerReference(podKind, pod)];
  return whenDeleted === "Delete" ? [controllerReference(statefulSetKind, set)] : [];
}

/** With deletion on scaling, a claim of an earlier pod of the same name must go first. */
export function isStaleClaim(
  set: StatefulSet,
  podName: string,
  claim: PersistentVolumeClaim | undefined,
): boolean {
  if (retentionOf(set).whenScaled === "Retain") return false;
  return (
    claim?.metadata.ownerReferences?.some((r) => r.kind === "Pod" && r.name === podName) ?? false
  );
}
