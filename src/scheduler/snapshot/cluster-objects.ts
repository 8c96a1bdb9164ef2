/** Read access to the other kinds that plugins decide by. All of it comes from informer caches. */

import type { ReplicaSet, StatefulSet } from "#api/generated/apps.v1.ts";
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  ReplicationController,
  Service,
} from "#api/generated/core.v1.ts";
import type { PodDisruptionBudget } from "#api/generated/policy.v1.ts";
import type { DeviceClass, ResourceClaim, ResourceSlice } from "#api/generated/resource.v1.ts";
import type {
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  StorageClass,
  VolumeAttachment,
} from "#api/generated/storage.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import type { Cache, ReadCache } from "#client/cache.ts";

/** A cache whose changes plugins follow, to keep counts of their own. */
export type WatchedCache<T extends KubeObject> = ReadCache<T> & Pick<Cache<T>, "on" | "waitFor">;

export interface ClusterObjects {
  /** Has an index of pods by their ResourceClaims. */
  readonly pods: ReadCache<Pod>;
  readonly services: ReadCache<Service>;
  readonly replicaSets: ReadCache<ReplicaSet>;
  readonly statefulSets: ReadCache<StatefulSet>;
  readonly replicationControllers: ReadCache<ReplicationController>;
  readonly podDisruptionBudgets: ReadCache<PodDisruptionBudget>;
  readonly claims: ReadCache<PersistentVolumeClaim>;
  readonly volumes: ReadCache<PersistentVolume>;
  readonly storageClasses: ReadCache<StorageClass>;
  readonly csiNodes: ReadCache<CSINode>;
  readonly csiDrivers: ReadCache<CSIDriver>;
  readonly storageCapacities: ReadCache<CSIStorageCapacity>;
  /** Has an index of attachments by their nodes. */
  readonly volumeAttachments: ReadCache<VolumeAttachment>;
  readonly resourceClaims: WatchedCache<ResourceClaim>;
  readonly resourceSlices: WatchedCache<ResourceSlice>;
  readonly deviceClasses: WatchedCache<DeviceClass>;
}
