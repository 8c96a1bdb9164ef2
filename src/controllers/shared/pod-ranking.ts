/**
 * Which pods of a set to delete first: those whose loss hurts least. Unscheduled before scheduled,
 * pending before unknown before running, not ready before ready, cheaper by their own annotation,
 * on nodes that have more pods of the same workload, ready for a shorter time, restarted more often,
 * younger.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import { timeToMs } from "#api/meta/time.ts";
import { isReady, readyCondition } from "./pods.ts";

const DELETION_COST = "controller.kubernetes.io/pod-deletion-cost";
const PHASE_RANK: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

/** The first `count` to go. `related` counts the workload's pods by node. */
export function podsToDelete(
  pods: readonly Pod[],
  count: number,
  related: ReadonlyMap<string, number>,
  nowMs: number,
): readonly Pod[] {
  if (count >= pods.length) return pods;
  const rank = (pod: Pod): number => related.get(pod.spec.nodeName ?? "") ?? 0;
  return [...pods].sort((a, b) => compare(a, b, rank, nowMs)).slice(0, count);
}

/**
 * The same for a Job: costs and neighbours do not count, ages count to the second, and of pods that
 * are alike those that are named first go.
 */
export function jobPodsToDelete(pods: readonly Pod[], count: number): readonly Pod[] {
  if (count >= pods.length) return pods;
  return pods
    .toSorted(
      (a, b) =>
        Number(isScheduled(a)) - Number(isScheduled(b)) ||
        phaseRank(a) - phaseRank(b) ||
        Number(isReady(a)) - Number(isReady(b)) ||
        later(readyAtMs(a), readyAtMs(b)) ||
        restarts(b) - restarts(a) ||
        later(createdAtMs(a), createdAtMs(b)),
    )
    .slice(0, count);
}

/** Those without a time come first, then the later ones. */
function later(aMs: number, bMs: number): number {
  if (Number.isNaN(aMs) || Number.isNaN(bMs)) {
    return Number(Number.isNaN(bMs)) - Number(Number.isNaN(aMs));
  }
  return bMs - aMs;
}

function compare(a: Pod, b: Pod, rank: (pod: Pod) => number, nowMs: number): number {
  return (
    Number(isScheduled(a)) - Number(isScheduled(b)) ||
    phaseRank(a) - phaseRank(b) ||
    Number(isReady(a)) - Number(isReady(b)) ||
    deletionCost(a) - deletionCost(b) ||
    rank(b) - rank(a) ||
    younger(readyAtMs(a), readyAtMs(b), nowMs) ||
    restarts(b) - restarts(a) ||
    younger(createdAtMs(a), createdAtMs(b), nowMs) ||
    ((a.metadata.uid ?? "") < (b.metadata.uid ?? "") ? -1 : 1)
  );
}

/** Ages are compared by their order of magnitude, so that small differences do not decide. */
function younger(aMs: number, bMs: number, nowMs: number): number {
  if (aMs === bMs) return 0;
  if (Number.isNaN(aMs) || Number.isNaN(bMs)) return Number.isNaN(aMs) ? -1 : 1;
  return magnitude(nowMs - aMs) - magnitude(nowMs - bMs);
}

function magnitude(ageMs: number): number {
  return ageMs <= 0 ? -1 : Math.floor(Math.log2(ageMs * 1e6));
}

function isScheduled({ spec }: Pod): boolean {
  return (spec.nodeName ?? "") !== "";
}

function phaseRank({ status }: Pod): number {
  return PHASE_RANK[status.phase ?? ""] ?? 0;
}

function deletionCost({ metadata }: Pod): number {
  const text = metadata.annotations?.[DELETION_COST];
  return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : 0;
}

function readyAtMs(pod: Pod): number {
  const since = isReady(pod) ? readyCondition(pod)?.lastTransitionTime : undefined;
  return since === undefined || since === null ? Number.NaN : timeToMs(since);
}

function createdAtMs({ metadata }: Pod): number {
  return metadata.creationTimestamp === undefined
    ? Number.NaN
    : timeToMs(metadata.creationTimestamp);
}

/** The most restarted container, sidecars included. */
function restarts({ status }: Pod): number {
  const all = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])];
  return Math.max(0, ...all.map(({ restartCount }) => restartCount));
}
