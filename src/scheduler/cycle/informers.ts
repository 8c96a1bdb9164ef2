/** The informers that feed the scheduler, one per kind. */

import type { KindOf, KubeObject } from "#api/kind.ts";
import { replicaSetKind } from "#api/kinds/apps/v1/replica-set.ts";
import { statefulSetKind } from "#api/kinds/apps/v1/stateful-set.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { replicationControllerKind } from "#api/kinds/core/v1/workload/replication-controller.ts";
import { podDisruptionBudgetKind } from "#api/kinds/policy/v1/pod-disruption-budget.ts";
import { deviceClassKind } from "#api/kinds/resource/v1/device-class.ts";
import { resourceClaimKind } from "#api/kinds/resource/v1/resource-claim.ts";
import { resourceSliceKind } from "#api/kinds/resource/v1/resource-slice.ts";
import { csiDriverKind } from "#api/kinds/storage/v1/csi-driver.ts";
import { csiNodeKind } from "#api/kinds/storage/v1/csi-node.ts";
import { csiStorageCapacityKind } from "#api/kinds/storage/v1/csi-storage-capacity.ts";
import { storageClassKind } from "#api/kinds/storage/v1/storage-class.ts";
import { volumeAttachmentKind } from "#api/kinds/storage/v1/volume-attachment.ts";
import type { Client } from "#client/client.ts";
import { Informer } from "#client/informer.ts";
import { TimeSlice } from "#lib/async/time-slice.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import {
  PODS_BY_RESOURCE_CLAIM,
  resourceClaimKeysOf,
} from "#scheduler/plugins/dynamic-resources/pod-resource-claims.ts";
import {
  ATTACHMENTS_BY_NODE,
  nodeOfAttachment,
} from "#scheduler/plugins/volumes/node-volume-limits.ts";
import type { ClusterObjects } from "#scheduler/snapshot/cluster-objects.ts";

const SLICE_MS = 2;
/** Pods that have ended hold nothing. */
const LIVING_PODS = "status.phase!=Succeeded,status.phase!=Failed";

export interface InformerParts {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export type SchedulerInformers = ReturnType<typeof createInformers>;

export function createInformers(parts: InformerParts) {
  // One for all: together with a slice of scheduling they stay far below 20 ms a turn.
  const slice = new TimeSlice(parts.clock, SLICE_MS);
  const of = <T extends KubeObject>(kind: KindOf<T>, fieldSelector?: string): Informer<T> => {
    const selected = fieldSelector === undefined ? {} : { fieldSelector };
    return new Informer({ ...parts, kind, slice, ...selected });
  };
  return {
    pods: of(podKind, LIVING_PODS),
    nodes: of(nodeKind),
    namespaces: of(namespaceKind),
    services: of(serviceKind),
    replicaSets: of(replicaSetKind),
    statefulSets: of(statefulSetKind),
    replicationControllers: of(replicationControllerKind),
    podDisruptionBudgets: of(podDisruptionBudgetKind),
    claims: of(persistentVolumeClaimKind),
    volumes: of(persistentVolumeKind),
    storageClasses: of(storageClassKind),
    csiNodes: of(csiNodeKind),
    csiDrivers: of(csiDriverKind),
    storageCapacities: of(csiStorageCapacityKind),
    volumeAttachments: of(volumeAttachmentKind),
    resourceClaims: of(resourceClaimKind),
    resourceSlices: of(resourceSliceKind),
    deviceClasses: of(deviceClassKind),
  };
}

export function objectsOf(informers: SchedulerInformers): ClusterObjects {
  informers.pods.cache.addIndex(PODS_BY_RESOURCE_CLAIM, resourceClaimKeysOf);
  informers.volumeAttachments.cache.addIndex(ATTACHMENTS_BY_NODE, nodeOfAttachment);
  return {
    pods: informers.pods.cache,
    services: informers.services.cache,
    replicaSets: informers.replicaSets.cache,
    statefulSets: informers.statefulSets.cache,
    replicationControllers: informers.replicationControllers.cache,
    podDisruptionBudgets: informers.podDisruptionBudgets.cache,
    claims: informers.claims.cache,
    volumes: informers.volumes.cache,
    storageClasses: informers.storageClasses.cache,
    csiNodes: informers.csiNodes.cache,
    csiDrivers: informers.csiDrivers.cache,
    storageCapacities: informers.storageCapacities.cache,
    volumeAttachments: informers.volumeAttachments.cache,
    resourceClaims: informers.resourceClaims.cache,
    resourceSlices: informers.resourceSlices.cache,
    deviceClasses: informers.deviceClasses.cache,
  };
}
