/** Whether a CSI driver has room for a new volume where a node can reach it. */
import type { Node, PersistentVolumeClaim } from "#api/generated/core.v1.ts";
import type { CSIStorageCapacity, StorageClass } from "#api/generated/storage.v1.ts";
import { matchesLabels, selectorOf } from "#api/meta/label-selector.ts";
import { compareQuantities, quantityOf } from "#api/meta/quantity.ts";
import type { ClusterObjects } from "#scheduler/snapshot/cluster-objects.ts";
import { requestedBytes } from "./match-volume.ts";

/** Drivers that do not publish their capacity are taken to have room. */
export function hasRoom(
  claim: PersistentVolumeClaim,
  { metadata, provisioner }: StorageClass,
  node: Node,
  { csiDrivers, storageCapacities }: Pick<ClusterObjects, "csiDrivers" | "storageCapacities">,
): boolean {
  if (csiDrivers.get(undefined, provisioner)?.spec.storageCapacity !== true) return true;
  const wanted = quantityOf(requestedBytes(claim));
  for (const capacity of storageCapacities.list()) {
    if (capacity.storageClassName !== metadata.name) continue;
    const limit = volumeLimitOf(capacity);
    if (limit === undefined || compareQuantities(quantityOf(limit), wanted) < 0) continue;
    if (isReachable(capacity, node)) return true;
  }
  return false;
}

/** The size of the largest volume that can be made. */
export function volumeLimitOf({ maximumVolumeSize, capacity }: CSIStorageCapacity) {
  return maximumVolumeSize ?? capacity;
}

function isReachable({ nodeTopology }: CSIStorageCapacity, { metadata }: Node): boolean {
  if (nodeTopology === undefined) return false;
  const parsed = selectorOf(nodeTopology);
  return parsed.ok && matchesLabels(parsed.value, metadata.labels);
}
