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
import type { ReadCache } from "#client/cache.ts";

export interface ClusterObjects {
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
  readonly volumeAttachments: ReadCache<VolumeAttachment>;
  readonly resourceClaims: ReadCache<ResourceClaim>;
  readonly resourceSlices: ReadCache<ResourceSlice>;
  readonly deviceClasses: ReadCache<DeviceClass>;
}
