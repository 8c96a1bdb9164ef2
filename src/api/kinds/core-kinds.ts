/** The kinds of the core group (but workloads), storage, scheduling, coordination and their like. */

import type { Kind } from "../kind.ts";
import {
  leaseCandidateV1Alpha2Kind,
  leaseCandidateV1Beta1Kind,
} from "./coordination/lease-candidate.ts";
import { leaseKind } from "./coordination/v1/lease.ts";
import { bindingKind } from "./core/v1/binding.ts";
import { componentStatusKind } from "./core/v1/component-status.ts";
import { configMapKind } from "./core/v1/config/config-map.ts";
import { secretKind } from "./core/v1/config/secret.ts";
import { endpointsKind } from "./core/v1/endpoints.ts";
import { eventKind } from "./core/v1/event/event.ts";
import { namespaceKind } from "./core/v1/namespace.ts";
import { nodeKind } from "./core/v1/node/node.ts";
import { persistentVolumeKind } from "./core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "./core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { limitRangeKind } from "./core/v1/resources/limit-range.ts";
import { resourceQuotaKind } from "./core/v1/resources/resource-quota.ts";
import { serviceKind } from "./core/v1/service/service.ts";
import { serviceAccountKind } from "./core/v1/service-account.ts";
import { endpointSliceKind } from "./discovery/v1/endpoint-slice.ts";
import { eventKind as eventsEventKind } from "./events/v1/event.ts";
import { runtimeClassKind } from "./node/v1/runtime-class.ts";
import { priorityClassKind } from "./scheduling/v1/priority-class.ts";
import { podGroupKind } from "./scheduling/v1alpha2/pod-group.ts";
import { workloadKind } from "./scheduling/v1alpha2/workload.ts";
import { csiDriverKind } from "./storage/v1/csi-driver.ts";
import { csiNodeKind } from "./storage/v1/csi-node.ts";
import { csiStorageCapacityKind } from "./storage/v1/csi-storage-capacity.ts";
import { storageClassKind } from "./storage/v1/storage-class.ts";
import { volumeAttachmentKind } from "./storage/v1/volume-attachment.ts";
import {
  volumeAttributesClassKind,
  volumeAttributesClassV1Beta1Kind,
} from "./storage/v1/volume-attributes-class.ts";

export const coreKinds: readonly Kind[] = [
  bindingKind,
  componentStatusKind,
  configMapKind,
  endpointsKind,
  eventKind,
  limitRangeKind,
  namespaceKind,
  nodeKind,
  persistentVolumeKind,
  persistentVolumeClaimKind,
  resourceQuotaKind,
  secretKind,
  serviceKind,
  serviceAccountKind,
  eventsEventKind,
  endpointSliceKind,
  csiDriverKind,
  csiNodeKind,
  csiStorageCapacityKind,
  storageClassKind,
  volumeAttachmentKind,
  volumeAttributesClassKind,
  volumeAttributesClassV1Beta1Kind,
  priorityClassKind,
  podGroupKind,
  workloadKind,
  leaseKind,
  leaseCandidateV1Beta1Kind,
  leaseCandidateV1Alpha2Kind,
  runtimeClassKind,
];
