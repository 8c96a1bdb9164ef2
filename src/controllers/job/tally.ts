/**
 * Counts of a Job. A pod that ended is counted exactly once, whatever crashes: its uid first stands
 * among the uncounted in the status, then its tracking finalizer goes, then it is counted. Of indexed
 * Jobs, successes are sets of indexes, which need no such care.
 */
import type { Job } from "#api/generated/batch.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { finishedAtMs, isActive, isReady, isTerminating } from "../shared/pods.ts";
import { verdictOn } from "./failure-policy.ts";
import { type IndexSet, readIndexes } from "./index-set.ts";
import {
  allEarlierFailures,
  earlierFailures,
  hasFailed,
  indexOf,
  isIndexed,
  isTracked,
} from "./tracked-pod.ts";

export interface Tally {
  readonly job: Job;
  readonly pods: readonly Pod[];
  readonly active: readonly Pod[];
  readonly ready: number;
  readonly terminating: readonly Pod[];
  /** Everything so far: counted, uncounted and not yet noticed. */
  readonly succeeded: number;
  readonly failed: number;
  readonly indexes: IndexTally | undefined;
  /** Ended, and in no count and no list yet; failures that a policy ignores included. */
  readonly newlySucceeded: readonly Pod[];
  readonly newlyFailed: readonly Pod[];
}

export interface IndexTally {
  readonly completions: number;
  /** As the status has them. */
  readonly counted: IndexSet;
  readonly succeeded: IndexSet;
  /** Only with a back-off limit per index. */
  readonly failed: IndexSet | undefined;
  /** The failed pod of each index that waits for a replacement, which must learn its count from it. */
  readonly awaitingReplacement: ReadonlyMap<number, Pod>;
}

export function tallyOf(job: Job, pods: readonly Pod[]): Tally {
  const active = pods.filter(isActive);
  const { succeeded = 0, failed = 0, uncountedTerminatedPods: uncounted = {} } = job.status;
  const isNew = (pod: Pod, known: readonly string[] = []): boolean =>
    isTracked(pod) && hasValidIndex(pod, job) && !known.includes(pod.metadata.uid ?? "");
  const newlySucceeded = pods.filter(
    (pod) => pod.status.phase === "Succeeded" && isNew(pod, uncounted.succeeded),
  );
  const newlyFailed = pods.filter((pod) => hasFailed(pod, job) && isNew(pod, uncounted.failed));
  const counting = newlyFailed.filter((pod) => verdictOn(pod, job).counts);
  const indexes = isIndexed(job) ? indexTallyOf(job, pods, active) : undefined;
  return {
    job,
    pods,
    active,
    ready: active.filter(isReady).length,
    terminating: pods.filter(isTerminating),
    succeeded:
      indexes?.succeeded.size ??
      succeeded + newlySucceeded.length + (uncounted.succeeded ?? []).length,
    failed: failed + counting.length + (uncounted.failed ?? []).length,
    indexes,
    newlySucceeded,
    newlyFailed,
  };
}

export function hasValidIndex(pod: Pod, job: Job): boolean {
  if (!isIndexed(job)) return true;
  const index = indexOf(pod);
  return index !== undefined && index < (job.spec.completions ?? 0);
}

export function indexesOf(pods: readonly Pod[]): ReadonlySet<number> {
  return new Set(pods.flatMap((pod) => indexOf(pod) ?? []));
}

function indexTallyOf(job: Job, pods: readonly Pod[], active: readonly Pod[]): IndexTally {
  const completions = job.spec.completions ?? 0;
  const counted = readIndexes(job.status.completedIndexes, completions);
  const tracked = pods.filter((pod) => isTracked(pod) && hasValidIndex(pod, job));
  const newlySucceeded = tracked.filter(({ status }) => status.phase === "Succeeded");
  const succeeded = new Set([...counted, ...indexesOf(newlySucceeded)]);
  if (job.spec.backoffLimitPerIndex === undefined) {
    return { completions, counted, succeeded, failed: undefined, awaitingReplacement: new Map() };
  }
  const failed = new Set([
    ...readIndexes(job.status.failedIndexes, completions),
    ...indexesOf(tracked.filter((pod) => failsItsIndex(pod, job))),
  ]);
  const settled = new Set([...succeeded, ...failed, ...indexesOf(active)]);
  const awaitingReplacement = new Map<number, Pod>();
  for (const pod of tracked) {
    const index = indexOf(pod)!;
    if (!hasFailed(pod, job) || settled.has(index)) continue;
    const other = awaitingReplacement.get(index);
    if (other === undefined || isLater(pod, other)) awaitingReplacement.set(index, pod);
  }
  return { completions, counted, succeeded, failed, awaitingReplacement };
}

function failsItsIndex(pod: Pod, job: Job): boolean {
  if (!hasFailed(pod, job)) return false;
  const { counts, failsIndex } = verdictOn(pod, job);
  if (failsIndex) return true;
  return counts && earlierFailures(pod) >= (job.spec.backoffLimitPerIndex ?? 0);
}

function isLater(pod: Pod, other: Pod): boolean {
  return (
    allEarlierFailures(other) <= allEarlierFailures(pod) && finishedAtMs(pod) >= finishedAtMs(other)
  );
}
