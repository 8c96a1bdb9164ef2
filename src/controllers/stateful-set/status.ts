/** How far a StatefulSet has come, and when that changes by itself. */
import type { ControllerRevision, StatefulSet, StatefulSetStatus } from "#api/generated/apps.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { withoutZeros } from "../shared/counters.ts";
import { availableAtMs, isAvailable, isReady } from "../shared/pods.ts";
import { revisionOf } from "./identity.ts";

export interface Running {
  readonly set: StatefulSet;
  readonly pods: readonly Pod[];
  readonly current: ControllerRevision;
  readonly latest: ControllerRevision;
  readonly nowMs: number;
}

export function statusOf(
  { set, pods, current, latest, nowMs }: Running,
  collisionCount: number,
): StatefulSetStatus {
  const minReadySeconds = set.spec.minReadySeconds ?? 0;
  const count = (test: (pod: Pod) => boolean): number => pods.filter(test).length;
  const isStaying = (pod: Pod): boolean => pod.metadata.deletionTimestamp === undefined;
  const withRevision = ({ metadata }: ControllerRevision): number =>
    count((pod) => isStaying(pod) && revisionOf(pod) === metadata.name);
  const ready = count(isRunningAndReady);
  const updated = withRevision(latest);
  // An update is complete when there are as many as wanted, new and ready; be that none at all.
  const isDone =
    set.spec.updateStrategy.type === "RollingUpdate" &&
    [updated, ready, pods.length].every((number) => number === (set.spec.replicas ?? 1));
  const { generation } = set.metadata;
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    replicas: pods.length,
    availableReplicas: count(
      (pod) => isRunningAndReady(pod) && isAvailable(pod, minReadySeconds, nowMs),
    ),
    ...withoutZeros({
      readyReplicas: ready,
      currentReplicas: isDone ? updated : withRevision(current),
      updatedReplicas: updated,
    }),
    currentRevision: (isDone ? latest : current).metadata.name ?? "",
    updateRevision: latest.metadata.name ?? "",
    collisionCount,
    ...(set.status.conditions === undefined ? {} : { conditions: set.status.conditions }),
  };
}

export function nextAvailableInMs({ set, pods, nowMs }: Running): number | undefined {
  const times = pods
    .map((pod) => availableAtMs(pod, set.spec.minReadySeconds ?? 0) ?? Number.POSITIVE_INFINITY)
    .filter((atMs) => atMs > nowMs && atMs < Number.POSITIVE_INFINITY);
  return times.length === 0 ? undefined : Math.min(...times) - nowMs;
}

export function isRunningAndReady(pod: Pod): boolean {
  return pod.status.phase === "Running" && isReady(pod);
}
