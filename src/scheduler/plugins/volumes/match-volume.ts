/** Finds the volume for a claim that waits for its first consumer, on a node. */
import type {
  Node,
  NodeSelector,
  PersistentVolume,
  PersistentVolumeClaim,
} from "#api/generated/core.v1.ts";
import { matchesNodeSelectorTerm } from "#api/kinds/core/v1/node/node-selection.ts";
import { matchesLabels, selectorOf } from "#api/meta/label-selector.ts";
import { compareQuantities, quantityOf } from "#api/meta/quantity.ts";
import { classNameOf } from "./pod-claims.ts";

/** The smallest free volume that suits the claim and can be reached from the node. */
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
    const { name = "", deletionTimestamp, labels } = volume.metadata;
    if (taken.has(name) || deletionTimestamp !== undefined) continue;
    if (!suits(volume, claim)) continue;
    const isOwn = pointsAt(volume, claim);
    if (volume.spec.claimRef !== undefined && !isOwn) continue;
    if (!isReachable(volume, node)) continue;
    if (isOwn) return volume; // it was made for the claim
    if (volume.status?.phase !== "Available") continue;
    if (claim.spec.selector !== undefined && !matchesLabels(selector, labels)) continue;
    if (best === undefined || capacityOf(volume, best) < 0) best = volume;
  }
  return best;
}

export function isReachable({ spec }: PersistentVolume, node: Node): boolean {
  const required: NodeSelector | undefined = spec.nodeAffinity?.required;
  if (required === undefined) return true;
  return (required.nodeSelectorTerms ?? []).some((term) => matchesNodeSelectorTerm(term, node));
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
  const modes = new Set(spec.accessModes ?? []);
  if (!(claim.spec.accessModes ?? []).every((mode) => modes.has(mode))) return false;
  const capacity = quantityOf(spec.capacity?.storage ?? "0");
  return compareQuantities(capacity, quantityOf(requestedBytes(claim))) >= 0;
}

function pointsAt({ spec }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  const { claimRef } = spec;
  if (claimRef === undefined) return false;
  if (claimRef.name !== metadata.name || claimRef.namespace !== metadata.namespace) return false;
  return (claimRef.uid ?? "") === "" || claimRef.uid === metadata.uid;
}

function capacityOf(a: PersistentVolume, b: PersistentVolume): number {
  return compareQuantities(
    quantityOf(a.spec.capacity?.storage ?? "0"),
    quantityOf(b.spec.capacity?.storage ?? "0"),
  );
}
