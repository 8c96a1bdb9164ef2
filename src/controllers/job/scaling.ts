/** How many pods of a Job should run now, and the writes that get there. */
import type { Pod } from "#api/generated/core.v1.ts";
import type { Outcome } from "#runtime/controller.ts";
import { jobPodsToDelete } from "../shared/pod-ranking.ts";
import { createPod, deletePod } from "../shared/pod-writes.ts";
import { backOffLeftMs, indexBackOffLeftMs, type Setbacks } from "./back-off.ts";
import { isSuspended } from "./ending.ts";
import { hasValidIndex, indexesOf, type Tally } from "./tally.ts";
import { indexOf, isTracked, newPod, replacesOnlyFailed, untrack } from "./tracked-pod.ts";

/** Pods that one decision may create or delete. */
const BURST_MAX = 500;

export interface Scaling {
  readonly writes: NonNullable<Outcome["writes"]>;
  readonly created: number;
  readonly deleted: readonly Pod[];
  readonly recheckInMs?: number;
}

export const NO_SCALING: Scaling = { writes: [], created: 0, deleted: [] };

export function scale(tally: Tally, setbacks: Setbacks, nowMs: number): Scaling {
  const { job, active } = tally;
  if (isSuspended(job)) return removal(tally, active);
  const wanted = wantedActive(tally);
  const surplus = surplusPods(tally, Math.max(0, active.length - wanted));
  if (surplus.length > 0) return removal(tally, surplus.slice(0, BURST_MAX));
  const held = replacesOnlyFailed(job) ? tally.terminating.length : 0;
  const missing = wanted - held - active.length;
  return missing > 0 ? creation(tally, Math.min(missing, BURST_MAX), setbacks, nowMs) : NO_SCALING;
}

/** The Job ends: what runs is deleted, but still counted. */
export function stopAll({ job, active }: Tally): Scaling {
  return { writes: [active.map((pod) => deletePod(job, pod))], created: 0, deleted: active };
}

function wantedActive({ job, active, succeeded }: Tally): number {
  const { completions, parallelism = 1 } = job.spec;
  if (completions !== undefined) return Math.max(0, Math.min(completions - succeeded, parallelism));
  // Without a number of completions the first success lets the rest run out.
  return succeeded > 0 ? active.length : parallelism;
}

/** Pods that are not wanted any more do not count as failed: they are let go before they are deleted. */
function removal({ job }: Tally, pods: readonly Pod[]): Scaling {
  return {
    writes: [pods.filter(isTracked).map(untrack), pods.map((pod) => deletePod(job, pod))],
    created: 0,
    deleted: pods,
  };
}

/** Strays and doubles of indexes go in any case. */
function surplusPods({ job, active, indexes }: Tally, atLeast: number) {
  const strays = active.filter((pod) => !hasValidIndex(pod, job));
  const byIndex = new Map<number | undefined, Pod[]>();
  for (const pod of indexes === undefined ? [] : active) {
    if (!hasValidIndex(pod, job)) continue;
    const index = indexOf(pod);
    byIndex.set(index, [...(byIndex.get(index) ?? []), pod]);
  }
  const doubles = [...byIndex.values()].flatMap((pods) =>
    pods.length === 1 ? [] : jobPodsToDelete(pods, pods.length - 1),
  );
  const surplus = new Set([...strays, ...doubles]);
  const rest = active
    .filter((pod) => !surplus.has(pod))
    .sort((a, b) => (indexOf(a) ?? 0) - (indexOf(b) ?? 0));
  return [...surplus, ...jobPodsToDelete(rest, Math.max(0, atLeast - surplus.size))];
}

function creation(tally: Tally, count: number, setbacks: Setbacks, nowMs: number): Scaling {
  const { job, indexes } = tally;
  if (job.spec.backoffLimitPerIndex === undefined) {
    const leftMs = backOffLeftMs(setbacks, nowMs);
    if (leftMs > 0) return { ...NO_SCALING, recheckInMs: leftMs };
  }
  if (indexes === undefined) {
    const write = createPod(job, newPod(job, undefined, undefined));
    return { writes: [Array.from({ length: count }, () => write)], created: count, deleted: [] };
  }
  const pending = pendingIndexes(tally, count);
  const leftMs = (index: number): number =>
    indexBackOffLeftMs(indexes.awaitingReplacement.get(index), nowMs);
  const due = pending.filter((index) => leftMs(index) === 0);
  const waits = pending.map(leftMs).filter((ms) => ms > 0);
  const writes = due.map((index) =>
    createPod(job, newPod(job, index, indexes.awaitingReplacement.get(index))),
  );
  return {
    writes: [writes],
    created: due.length,
    deleted: [],
    ...(waits.length === 0 ? {} : { recheckInMs: Math.min(...waits) }),
  };
}

/** The lowest indexes that have no pod and no result. */
function pendingIndexes({ job, active, terminating, indexes }: Tally, count: number) {
  const { succeeded, failed, completions } = indexes!;
  const taken = new Set([
    ...succeeded,
    ...(failed ?? []),
    ...indexesOf(active),
    ...(replacesOnlyFailed(job) ? indexesOf(terminating) : []),
  ]);
  const pending: number[] = [];
  for (let index = 0; index < completions && pending.length < count; index++) {
    if (!taken.has(index)) pending.push(index);
  }
  return pending;
}
