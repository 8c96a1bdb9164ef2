/**
 * How long a pod took to start, by the definition of the pod startup latency SLI: from its creation until
 * a watch shows that all its containers have started, without the time to pull images and to run init
 * containers. Pure.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import { timeToMs } from "#api/meta/time.ts";
import { isSidecar } from "./restart.ts";

/** By the clock's `elapsedMs`. */
export interface PullSession {
  readonly startMs: number;
  readonly endMs: number;
}

export interface PodStart {
  readonly totalMs: number;
  /** Undefined for pods with volumes that are more than configuration: the SLI leaves them out. */
  readonly sliMs: number | undefined;
}

export function decidePodStart(pod: Pod, pulls: readonly PullSession[], nowMs: number): PodStart {
  const totalMs = nowMs - timeToMs(pod.metadata.creationTimestamp ?? "");
  const sliMs = totalMs - pullingMs(pulls) - initContainersMs(pod);
  return { totalMs, sliMs: isStateful(pod) ? undefined : sliMs };
}

/** Every container has been started. */
export function hasStarted({ spec, status }: Pod): boolean {
  const statuses = status?.containerStatuses ?? [];
  return (
    statuses.length >= (spec.containers ?? []).length &&
    statuses.every(({ state }) => Boolean(state?.running?.startedAt))
  );
}

/** The scheduler could not place it at once, which the SLI leaves out. */
export function wasUnschedulable({ status }: Pod): boolean {
  const { conditions = [] } = status ?? {};
  return conditions.some(({ type, status: is }) => type === "PodScheduled" && is === "False");
}

/** Pulls at the same time count once. */
function pullingMs(pulls: readonly PullSession[]): number {
  const sorted = [...pulls].sort((a, b) => a.startMs - b.startMs);
  let [sumMs, untilMs] = [0, Number.NEGATIVE_INFINITY];
  for (const { startMs, endMs } of sorted) {
    sumMs += Math.max(0, endMs - Math.max(startMs, untilMs));
    untilMs = Math.max(untilMs, endMs);
  }
  return sumMs;
}

function initContainersMs({ spec, status }: Pod): number {
  const sidecars = new Set((spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name));
  const ended = (status?.initContainerStatuses ?? []).filter(({ name }) => !sidecars.has(name));
  return ended.reduce((sum, { state }) => {
    const { startedAt, finishedAt } = state?.terminated ?? {};
    if (!startedAt || !finishedAt) return sum;
    return sum + Math.max(0, timeToMs(finishedAt) - timeToMs(startedAt));
  }, 0);
}

function isStateful({ spec }: Pod): boolean {
  return (spec.volumes ?? []).some(
    ({ secret, configMap, downwardAPI, emptyDir, projected }) =>
      (secret ?? configMap ?? downwardAPI ?? emptyDir ?? projected) === undefined,
  );
}
