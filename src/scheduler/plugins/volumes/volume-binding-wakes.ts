/** The changes of the cluster after which a pod may get the volumes that it lacked. */
import { isDeepStrictEqual } from "node:util";
import type { CSIStorageCapacity } from "#api/generated/storage.v1.ts";
import { compareQuantities, quantityOf } from "#api/meta/quantity.ts";
import type { AnyWakeRule } from "#scheduler/plugin.ts";
import { migratedPluginsOn } from "./migrated-volumes.ts";
import { usesClaim } from "./pod-claims.ts";
import { volumeLimitOf } from "./storage-capacity.ts";

export const VOLUME_BINDING_WAKES: readonly AnyWakeRule[] = [
  { event: "storage-class-added" },
  {
    event: "storage-class-changed",
    wakes: (_pod, next, old) => !isDeepStrictEqual(next.allowedTopologies, old?.allowedTopologies),
  },
  {
    event: "claim-added",
    wakes: ({ pod }, { metadata }) => usesClaim(pod, metadata.namespace, metadata.name),
  },
  {
    event: "claim-changed",
    wakes: ({ pod }, { metadata }) => usesClaim(pod, metadata.namespace, metadata.name),
  },
  { event: "volume-added" },
  { event: "volume-changed" },
  { event: "node-added" },
  { event: "node-labels-changed" },
  { event: "csi-node-added" },
  {
    event: "csi-node-changed",
    wakes: (_pod, next, old) =>
      old === undefined || migratedPluginsOn(next) !== migratedPluginsOn(old),
  },
  {
    event: "csi-driver-changed",
    wakes: (_pod, next, old) =>
      old?.spec.storageCapacity === true && next.spec.storageCapacity !== true,
  },
  { event: "storage-capacity-added" },
  {
    event: "storage-capacity-changed",
    wakes: (_pod, next, old) => old === undefined || hasGrown(next, old),
  },
];

function hasGrown(next: CSIStorageCapacity, old: CSIStorageCapacity): boolean {
  const [after, before] = [volumeLimitOf(next), volumeLimitOf(old)];
  if (after === undefined) return false;
  return before === undefined || compareQuantities(quantityOf(after), quantityOf(before)) > 0;
}
