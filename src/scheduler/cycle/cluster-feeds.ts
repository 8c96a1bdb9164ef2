/**
 * Keeps the snapshot and the queue up to date with the cluster: every change that an informer
 * reports is taken into the snapshot first and then offered to the pods that wait.
 */
import type { Node, Pod } from "#api/generated/core.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import type { Change } from "#client/cache.ts";
import { eventLabel } from "#scheduler/metrics/queue-metrics.ts";
import type { EventName, EventObjects } from "#scheduler/plugin.ts";
import type { Nominator } from "#scheduler/queue/nominator.ts";
import type { SchedulingQueue } from "#scheduler/queue/scheduling-queue.ts";
import type { ClusterChange } from "#scheduler/queue/wake-decision.ts";
import { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import type { Snapshot } from "#scheduler/snapshot/snapshot.ts";
import type { SchedulerInformers } from "./informers.ts";
import { nodeEvents, podEvents } from "./object-events.ts";

export interface FeedOptions {
  readonly informers: SchedulerInformers;
  readonly snapshot: Snapshot;
  readonly queue: SchedulingQueue;
  readonly nominator: Nominator;
  /** Whether a profile of this scheduler is named by the pod. */
  isOurs(pod: Pod): boolean;
  /** A change was handled; its name is upstream's. */
  handled(event: string, sinceMs: number): void;
  nowMs(): number;
  /** An assumed pod was deleted or is being deleted. */
  cancelAssumed(uid: string): void;
}

export function connectFeeds(options: FeedOptions, signal: AbortSignal): void {
  const { informers, snapshot } = options;
  informers.pods.on((change) => {
    const sinceMs = options.nowMs();
    onPod(change, options);
    options.handled(`${podResource(change)}${actionOf(change)}`, sinceMs);
  }, signal);
  informers.nodes.on((change) => {
    const sinceMs = options.nowMs();
    onNode(change, options);
    options.handled(`Node${actionOf(change)}`, sinceMs);
  }, signal);
  informers.namespaces.on(({ next, old }) => {
    const name = (next ?? old)?.metadata.name ?? "";
    snapshot.setNamespace(name, next === undefined ? undefined : (next.metadata.labels ?? {}));
  }, signal);
  connectOther(options, signal);
}

function podResource({ next, old }: Change<Pod>): "AssignedPod" | "UnschedulablePod" {
  const pod = next ?? old;
  return pod !== undefined && isAssigned(pod) ? "AssignedPod" : "UnschedulablePod";
}

function actionOf({ next, old }: Change<KubeObject>): "Add" | "Update" | "Delete" {
  if (next === undefined) return "Delete";
  return old === undefined ? "Add" : "Update";
}

function onPod({ next, old }: Change<Pod>, options: FeedOptions): void {
  const { snapshot, queue, nominator } = options;
  // A pod that was deleted and created anew under its name is two pods.
  if (next !== undefined && old !== undefined && next.metadata.uid !== old.metadata.uid) {
    onPod({ next: undefined, old }, options);
    onPod({ next, old: undefined }, options);
    return;
  }
  const pod = next ?? old;
  const uid = pod?.metadata.uid ?? "";
  if (next === undefined) {
    if (old === undefined) return;
    if (!isAssigned(old)) {
      queue.delete(uid);
      nominator.delete(uid);
      if (snapshot.isAssumed(uid)) options.cancelAssumed(uid);
    }
    snapshot.removePod(uid);
    if (isAssigned(old) || (old.status?.nominatedNodeName ?? "") !== "") {
      queue.change({ event: "pod-deleted", next: old, old: undefined });
    }
    return;
  }
  if (isAssigned(next)) onAssignedPod(next, old, options);
  else if (options.isOurs(next)) onPendingPod(next, old, options);
}

function onAssignedPod(next: Pod, old: Pod | undefined, options: FeedOptions): void {
  const { snapshot, queue, nominator } = options;
  const uid = next.metadata.uid ?? "";
  const wasAssigned = old !== undefined && isAssigned(old);
  snapshot.setPod(next);
  if (!wasAssigned) {
    queue.delete(uid);
    nominator.delete(uid);
    queue.change({ event: "pod-added", next, old: undefined });
    return;
  }
  for (const event of podEvents(next, old)) queue.change(change(event, next, old));
}

function onPendingPod(next: Pod, old: Pod | undefined, options: FeedOptions): void {
  const { snapshot, queue, nominator } = options;
  const uid = next.metadata.uid ?? "";
  if (snapshot.isAssumed(uid)) {
    if (next.metadata.deletionTimestamp !== undefined) options.cancelAssumed(uid);
    return;
  }
  const info = new PodInfo(next);
  nominator.update(info);
  if (old === undefined) {
    queue.add(info);
    return;
  }
  queue.update(info);
  const before = old.status?.nominatedNodeName ?? "";
  if (before !== "" && before !== next.status?.nominatedNodeName) {
    if (nominator.nodeOf(uid) === before && next.status?.nominatedNodeName === undefined) {
      nominator.delete(uid);
    }
    // The room that was kept for the pod is free for others.
    queue.change({ event: "pod-deleted", next: old, old: undefined });
  }
  for (const event of podEvents(next, old)) queue.ownChange(uid, change(OWN[event], next, old));
}

const OWN = {
  "pod-labels-changed": "own-labels-changed",
  "pod-scaled-down": "own-scaled-down",
  "pod-claims-changed": "own-claims-changed",
  "own-tolerations-changed": "own-tolerations-changed",
  "own-gates-eliminated": "own-gates-eliminated",
} as const satisfies Partial<Record<EventName, EventName>>;

function onNode({ next, old }: Change<Node>, { snapshot, queue }: FeedOptions): void {
  if (next === undefined) {
    if (old === undefined) return;
    snapshot.removeNode(old.metadata.name ?? "");
    queue.change({ event: "node-deleted", next: old, old: undefined });
    return;
  }
  snapshot.setNode(next);
  if (old === undefined) {
    queue.change({ event: "node-added", next, old: undefined });
    return;
  }
  for (const event of nodeEvents(next, old)) queue.change(change(event, next, old));
}

/** Kinds of which plugins want to know that something changed, and no more. */
function connectOther(options: FeedOptions, signal: AbortSignal): void {
  const { informers, queue } = options;
  const feed = <Prefix extends OtherPrefix>(
    prefix: Prefix,
    informer: { on(listener: (change: Change<KubeObject>) => void, signal: AbortSignal): void },
  ): void =>
    informer.on(({ next, old }) => {
      const verb = next === undefined ? "deleted" : old === undefined ? "added" : "changed";
      const event = `${prefix}-${verb}` as EventName;
      const sinceMs = options.nowMs();
      queue.change({ event, next: next ?? old, old: next && old } as ClusterChange);
      options.handled(eventLabel(event), sinceMs);
    }, signal);
  feed("claim", informers.claims);
  feed("volume", informers.volumes);
  feed("storage-class", informers.storageClasses);
  feed("csi-node", informers.csiNodes);
  feed("csi-driver", informers.csiDrivers);
  feed("storage-capacity", informers.storageCapacities);
  feed("volume-attachment", informers.volumeAttachments);
  feed("resource-claim", informers.resourceClaims);
  feed("resource-slice", informers.resourceSlices);
  feed("device-class", informers.deviceClasses);
}

type OtherPrefix =
  | "claim"
  | "volume"
  | "storage-class"
  | "csi-node"
  | "csi-driver"
  | "storage-capacity"
  | "volume-attachment"
  | "resource-claim"
  | "resource-slice"
  | "device-class";

function change<Name extends EventName>(
  event: Name,
  next: EventObjects[Name],
  old: EventObjects[Name] | undefined,
): ClusterChange {
  return { event, next, old };
}

function isAssigned({ spec }: Pod): boolean {
  return (spec.nodeName ?? "") !== "";
}
