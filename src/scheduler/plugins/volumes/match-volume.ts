/** Finds the volume for a claim that waits for its first consumer, on a node. */
import type { Node, PersistentVolume, PersistentVolumeClaim } from "#api/generated/core.v1.ts";
import { matchesLabels, selectorOf } from "#api/meta/label-selector.ts";
import { compareQuantities, quantityOf } from "#api/meta/quantity.ts";
import { matchesAffinity } from "./migrated-volumes.ts";
import { classNameOf } from "./pod-claims.ts";

/**
 * The volume that was made for the claim, or else the smallest free one that suits it and can be
 * reached from the node. A volume that was made for the claim and cannot be reached rules all
 * others out.
 */
export function matchVolume(
  claim: PersistentVolumeClaim,
  volumes: Iterable<PersistentVolume>,
  node: Node,
  taken: ReadonlySet<string>,
): PersistentVolume | undefined {
  const parsed = selectorOf(claim.spec.selector);
  const selector = parsed.ok ? parsed.value : "nothing";
  let best: PersistentVolume | undefined;
  for (const volume of volumes) {
    const { spec, metadata, status } = volume;
    if (taken.has(metadata.name ?? "") || metadata.deletionTimestamp !== undefined) continue;
    const isOwn = pointsAt(volume, claim);
    if ((spec.claimRef !== undefined && !isOwn) || !suits(volume, claim)) continue;
    const isHere = matchesAffinity(spec.nodeAffinity, node);
    if (isOwn) return isHere ? volume : undefined;
    if (!isHere || status?.phase !== "Available" || !hasModes(volume, claim)) continue;
    if (claim.spec.selector !== undefined && !matchesLabels(selector, metadata.labels)) continue;
    if (best === undefined || compareCapacity(volume, best) < 0) best = volume;
  }
  return best;
}

export function requestedBytes({ spec }: PersistentVolumeClaim): string {
  return spec.resources?.requests?.storage ?? "0";
}

function suits(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const { spec, metadata } = volume;
  const volumeClass =
    metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] ??
    spec.storageClassName ??
    "";
  if (volumeClass !== classNameOf(claim)) return false;
  if ((spec.volumeMode ?? "Filesystem") !== (claim.spec.volumeMode ?? "Filesystem")) return false;
  if ((spec.volumeAttributesClassName ?? "") !== (claim.spec.volumeAttributesClassName ?? ""))
    return false;
  const capacity = quantityOf(spec.capacity?.storage ?? "0");
  return compareQuantities(capacity, quantityOf(requestedBytes(claim))) >= 0;
}

function hasModes({ spec }: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  return (claim.spec.accessModes ?? []).every((mode) => spec.accessModes?.includes(mode) === true);
}

function pointsAt({ spec }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  const { claimRef } = spec;
  if (claimRef === undefined) return false;
  if (claimRef.name !== metadata.name || claimRef.namespace !== metadata.namespace) return false;
  return (claimRef.uid ?? "") === "" || claimRef.uid === metadata.uid;
}

function compareCapacity(a: PersistentVolume, b: PersistentVolume): number {
  return compareQuantities(
    quantityOf(a.spec.capacity?.storage ?? "0"),
    quantityOf(b.spec.capacity?.storage ?? "0"),
  );
}
