/** Metrics of the scheduling queue, under upstream's names and with its names of events. */
import type { Counter, Histogram, Metrics } from "#lib/metrics.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { EventName } from "#scheduler/plugin.ts";
import { exponential } from "./buckets.ts";

/** Where a pod waits after it entered the queue. */
export type QueuePlace = "active" | "backoff" | "unschedulable";

/** What else than a change of the cluster moves a pod. */
export type QueueReason =
  | "UnschedulablePodAdd"
  | "UnschedulablePodUpdate"
  | "ScheduleAttemptFailure"
  | "BackoffComplete"
  | "PopFromBackoffQ"
  | "ForceActivate"
  | "UnschedulableTimeout";

export interface QueueMetrics {
  nowMs(): number;
  entered(place: QueuePlace, event: EventName | QueueReason): void;
  /** A plugin's wake rule was asked about a change. */
  hintEnded(plugin: string, event: EventName, isWoken: boolean, sinceMs: number): void;
}

const LABELS: Readonly<Record<EventName, string>> = {
  "node-added": "NodeAdd",
  "node-allocatable-changed": "NodeUpdateNodeAllocatable",
  "node-labels-changed": "NodeUpdateNodeLabel",
  "node-taints-changed": "NodeUpdateNodeTaint",
  "node-conditions-changed": "NodeUpdateNodeCondition",
  "node-annotations-changed": "NodeUpdateNodeAnnotation",
  "node-features-changed": "NodeUpdateNodeDeclaredFeature",
  "node-deleted": "NodeDelete",
  "pod-added": "AssignedPodAdd",
  "pod-labels-changed": "AssignedPodUpdatePodLabel",
  "pod-scaled-down": "AssignedPodUpdatePodScaleDown",
  "pod-claims-changed": "AssignedPodUpdatePodGeneratedResourceClaim",
  "pod-deleted": "AssignedPodDelete",
  "own-labels-changed": "UnschedulablePodUpdatePodLabel",
  "own-tolerations-changed": "UnschedulablePodUpdatePodToleration",
  "own-gates-eliminated": "UnschedulablePodUpdatePodSchedulingGatesEliminated",
  "own-scaled-down": "UnschedulablePodUpdatePodScaleDown",
  "own-claims-changed": "UnschedulablePodUpdatePodGeneratedResourceClaim",
  "own-changed": "UnschedulablePodUpdate",
  "claim-added": "PersistentVolumeClaimAdd",
  "claim-changed": "PersistentVolumeClaimUpdate",
  "claim-deleted": "PersistentVolumeClaimDelete",
  "volume-added": "PersistentVolumeAdd",
  "volume-changed": "PersistentVolumeUpdate",
  "storage-class-added": "storage.k8s.io/StorageClassAdd",
  "storage-class-changed": "storage.k8s.io/StorageClassUpdate",
  "csi-node-added": "storage.k8s.io/CSINodeAdd",
  "csi-node-changed": "storage.k8s.io/CSINodeUpdate",
  "csi-node-deleted": "storage.k8s.io/CSINodeDelete",
  "csi-driver-added": "storage.k8s.io/CSIDriverAdd",
  "csi-driver-changed": "storage.k8s.io/CSIDriverUpdate",
  "csi-driver-deleted": "storage.k8s.io/CSIDriverDelete",
  "storage-capacity-added": "storage.k8s.io/CSIStorageCapacityAdd",
  "storage-capacity-changed": "storage.k8s.io/CSIStorageCapacityUpdate",
  "volume-attachment-deleted": "storage.k8s.io/VolumeAttachmentDelete",
  "resource-claim-added": "resource.k8s.io/ResourceClaimAdd",
  "resource-claim-changed": "resource.k8s.io/ResourceClaimUpdate",
  "resource-claim-deleted": "resource.k8s.io/ResourceClaimDelete",
  "resource-slice-added": "resource.k8s.io/ResourceSliceAdd",
  "resource-slice-changed": "resource.k8s.io/ResourceSliceUpdate",
  "resource-slice-deleted": "resource.k8s.io/ResourceSliceDelete",
  "device-class-added": "resource.k8s.io/DeviceClassAdd",
  "device-class-changed": "resource.k8s.io/DeviceClassUpdate",
};

/** Upstream's name of a change; one that no plugin can have a rule for keeps the name it has here. */
export function eventLabel(event: EventName | QueueReason): string {
  return (LABELS as Readonly<Record<string, string>>)[event] ?? event;
}

export function registerQueueMetrics(metrics: Metrics, clock: Clock): QueueMetrics {
  const incoming = metrics.counter({
    name: "scheduler_queue_incoming_pods_total",
    help: "Number of pods added to scheduling queues by event and queue type.",
    labels: ["queue", "event"],
  });
  const hints = metrics.histogram({
    name: "scheduler_queueing_hint_execution_duration_seconds",
    help: "Duration for running a queueing hint function of a plugin.",
    labels: ["plugin", "event", "hint"],
    buckets: exponential(0.00001, 1.5, 20),
  });
  const entered = new Map<string, Counter>();
  const ran = new Map<string, Histogram>();
  return {
    nowMs: () => clock.elapsedMs(),
    entered: (place, event) => {
      const key = `${place} ${event}`;
      let counter = entered.get(key);
      if (counter === undefined) {
        counter = incoming(place, eventLabel(event));
        entered.set(key, counter);
      }
      counter.add(1);
    },
    hintEnded: (plugin, event, isWoken, sinceMs) => {
      const hint = isWoken ? "Queue" : "QueueSkip";
      const key = `${plugin} ${event} ${hint}`;
      let histogram = ran.get(key);
      if (histogram === undefined) {
        histogram = hints(plugin, eventLabel(event), hint);
        ran.set(key, histogram);
      }
      histogram.observe((clock.elapsedMs() - sinceMs) / 1000);
    },
  };
}
