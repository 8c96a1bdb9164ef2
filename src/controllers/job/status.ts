/** The next status of a Job, and which pods may lose their tracking finalizer once it is written. */
import type { Job, JobCondition, JobStatus } from "#api/generated/batch.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { timeFromMs } from "#api/meta/time.ts";
import type { EventNote } from "#runtime/controller.ts";
import { withoutZeros } from "../shared/counters.ts";
import { isReady } from "../shared/pods.ts";
import { announced, type Ending, isSuspended } from "./ending.ts";
import { verdictOn } from "./failure-policy.ts";
import { formatIndexes } from "./index-set.ts";
import type { Scaling } from "./scaling.ts";
import { hasValidIndex, type Tally } from "./tally.ts";
import { hasFailed, indexOf, isTracked } from "./tracked-pod.ts";

/** Keeps the lists of uncounted pods, and with them the status, small. */
const UNCOUNTED_MAX = 500;

export interface Progress {
  readonly status: JobStatus;
  readonly untracked: readonly Pod[];
  /** Recorded once the status is written. */
  readonly event?: Omit<EventNote, "about">;
}

export function progressOf(
  tally: Tally,
  ending: Ending | undefined,
  scaling: Scaling,
  nowMs: number,
): Progress {
  const { job } = tally;
  const counts = countEnded(tally, ending);
  const deletedReady = scaling.deleted.filter(isReady).length;
  const base: JobStatus = {
    ...withoutZeros({
      active: tally.active.length + scaling.created - scaling.deleted.length,
      succeeded: counts.succeeded,
      failed: counts.failed,
    }),
    ...startTimeOf(job, nowMs),
    ...(job.status.completionTime === undefined
      ? {}
      : { completionTime: job.status.completionTime }),
    ready: tally.ready - deletedReady,
    terminating: tally.terminating.length + scaling.deleted.length,
    uncountedTerminatedPods: withoutEmpty(counts.uncounted),
    ...indexTexts(tally, counts.succeededIndexes),
    ...(job.status.conditions === undefined ? {} : { conditions: job.status.conditions }),
  };
  const next = { status: base, untracked: counts.untracked };
  if (ending !== undefined) return withEnding(job, next, ending, counts.isCut, nowMs);
  return job.metadata.deletionTimestamp === undefined ? withSuspension(job, next, nowMs) : next;
}

interface Counts {
  readonly succeeded: number;
  readonly failed: number;
  readonly uncounted: { readonly succeeded: readonly string[]; readonly failed: readonly string[] };
  readonly succeededIndexes: ReadonlySet<number>;
  readonly untracked: readonly Pod[];
  /** Some pods wait for the next round. */
  readonly isCut: boolean;
}

function countEnded({ job, pods, indexes }: Tally, ending: Ending | undefined): Counts {
  const { uncountedTerminatedPods: uncounted = {}, succeeded = 0, failed = 0 } = job.status;
  const tracked = pods.filter(isTracked);
  const trackedUids = new Set(tracked.map(({ metadata }) => metadata.uid ?? ""));
  const staying = (uids: readonly string[] = []): string[] =>
    uids.filter((uid) => trackedUids.has(uid));
  const next = { succeeded: staying(uncounted.succeeded), failed: staying(uncounted.failed) };
  const goneSucceeded = (uncounted.succeeded ?? []).length - next.succeeded.length;
  const goneFailed = (uncounted.failed ?? []).length - next.failed.length;
  const newIndexes = new Set<number>();
  const untracked: Pod[] = [];
  let isCut = false;
  const inOrder = indexes === undefined ? tracked : [...tracked].sort(byIndex);
  const uncountedFailed = new Set(next.failed);
  const uncountedSucceeded = new Set(next.succeeded);
  for (const pod of inOrder) {
    if (isCut) break;
    const isFailure = hasFailed(pod, job);
    if (!mayUntrack(pod, job, indexes, ending, isFailure)) continue;
    untracked.push(pod);
    const uid = pod.metadata.uid ?? "";
    if (pod.status.phase === "Succeeded" && !uncountedFailed.has(uid)) {
      const index = indexOf(pod);
      if (indexes === undefined) {
        if (!uncountedSucceeded.has(uid)) next.succeeded.push(uid);
      } else if (hasValidIndex(pod, job) && !indexes.counted.has(index!)) newIndexes.add(index!);
    } else if (isFailure || ending?.type === "FailureTarget") {
      // When the Job has failed, every pod that did not end by itself has failed with it.
      const counts = hasValidIndex(pod, job) && verdictOn(pod, job).counts;
      if (counts && !uncountedFailed.has(uid)) next.failed.push(uid);
    }
    isCut = newIndexes.size + next.succeeded.length + next.failed.length >= UNCOUNTED_MAX;
  }
  const succeededIndexes = new Set([...(indexes?.succeeded ?? []), ...newIndexes]);
  return {
    succeeded: indexes === undefined ? succeeded + goneSucceeded : succeededIndexes.size,
    failed: failed + goneFailed,
    uncounted: next,
    succeededIndexes,
    untracked,
    isCut,
  };
}

function mayUntrack(
  pod: Pod,
  job: Job,
  indexes: Tally["indexes"],
  ending: Ending | undefined,
  isFailure: boolean,
): boolean {
  if (job.metadata.deletionTimestamp !== undefined || ending !== undefined) return true;
  if (pod.status.phase === "Succeeded") return true;
  const index = indexOf(pod);
  const awaiting = index === undefined ? undefined : indexes?.awaitingReplacement.get(index);
  return isFailure && awaiting?.metadata.uid !== pod.metadata.uid;
}

/** Announces the end; once that is written and nothing is left to stop or count, the Job is over. */
function withEnding(
  job: Job,
  { status, untracked }: Progress,
  ending: Ending,
  isCut: boolean,
  nowMs: number,
): Progress {
  const { type, reason, message } = ending;
  const { uncountedTerminatedPods: uncounted = {}, terminating = 0, active = 0 } = status;
  if (announced(job) === undefined) {
    const conditions = withStatus(status.conditions ?? [], type, "True", reason, message, nowMs);
    return { status: { ...status, conditions }, untracked };
  }
  const left = (uncounted.succeeded ?? []).length + (uncounted.failed ?? []).length;
  if (isCut || left + terminating + active + untracked.length > 0) return { status, untracked };
  const last = type === "SuccessCriteriaMet" ? "Complete" : "Failed";
  const conditions = withStatus(status.conditions ?? [], last, "True", reason, message, nowMs);
  if (last === "Failed") {
    const event = { type: "Warning", reason, message } as const;
    return { status: { ...status, conditions }, untracked, event };
  }
  return {
    status: { ...status, conditions, completionTime: timeFromMs(nowMs) },
    untracked,
    event: { type: "Normal", reason: "Completed", message: "Job completed" },
  };
}

function withSuspension(job: Job, { status, untracked }: Progress, nowMs: number): Progress {
  const [value, reason, message] = isSuspended(job)
    ? (["True", "JobSuspended", "Job suspended"] as const)
    : (["False", "JobResumed", "Job resumed"] as const);
  const old = status.conditions ?? [];
  const conditions = withStatus(old, "Suspended", value, reason, message, nowMs);
  if (conditions === old) return { status, untracked };
  const { startTime: _, ...rest } = status;
  return {
    // The deadline counts from the time of resumption on.
    status: { ...rest, conditions, ...(value === "True" ? {} : { startTime: timeFromMs(nowMs) }) },
    untracked,
    event: {
      type: "Normal",
      reason: value === "True" ? "Suspended" : "Resumed",
      message,
    },
  };
}

/** Conditions keep their place in the list; one that never held is not said to be false. */
function withStatus(
  conditions: readonly JobCondition[],
  type: string,
  status: "True" | "False",
  reason: string,
  message: string,
  nowMs: number,
): readonly JobCondition[] {
  const now = timeFromMs(nowMs);
  const next: JobCondition = {
    type,
    status,
    lastProbeTime: now,
    lastTransitionTime: now,
    reason,
    message,
  };
  const at = conditions.findIndex((condition) => condition.type === type);
  const old = conditions[at];
  if (old === undefined) return status === "False" ? conditions : [...conditions, next];
  const isSame = old.status === status && old.reason === reason && old.message === message;
  return isSame ? conditions : conditions.with(at, next);
}

function startTimeOf(job: Job, nowMs: number): Pick<JobStatus, "startTime"> {
  const { startTime } = job.status;
  if (startTime !== undefined) return { startTime };
  return isSuspended(job) ? {} : { startTime: timeFromMs(nowMs) };
}

function indexTexts(
  { indexes }: Tally,
  succeeded: ReadonlySet<number>,
): Pick<JobStatus, "completedIndexes" | "failedIndexes"> {
  if (indexes === undefined) return {};
  const completedIndexes = formatIndexes(succeeded);
  return {
    ...(completedIndexes === "" ? {} : { completedIndexes }),
    ...(indexes.failed === undefined ? {} : { failedIndexes: formatIndexes(indexes.failed) }),
  };
}

function withoutEmpty<T extends Readonly<Record<string, readonly string[]>>>(lists: T): Partial<T> {
  return Object.fromEntries(Object.entries(lists).filter(([, l]) => l.length > 0)) as Partial<T>;
}

function byIndex(a: Pod, b: Pod): number {
  return (indexOf(a) ?? -1) - (indexOf(b) ?? -1);
}
