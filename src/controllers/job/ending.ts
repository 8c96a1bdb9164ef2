/**
 * Whether a Job has come to its end, and why. The end is announced by a condition
 * (SuccessCriteriaMet or FailureTarget) and takes effect (Complete or Failed) when every pod has
 * stopped and is counted.
 */
import type { Job } from "#api/generated/batch.v1.ts";
import { timeToMs } from "#api/meta/time.ts";
import { findCondition } from "../shared/conditions.ts";
import { verdictOn } from "./failure-policy.ts";
import { readIndexes } from "./index-set.ts";
import type { IndexTally, Tally } from "./tally.ts";
import { hasFailed } from "./tracked-pod.ts";

export interface Ending {
  readonly type: "SuccessCriteriaMet" | "FailureTarget";
  readonly reason: string;
  readonly message: string;
}

/** That enough pods have succeeded. It counts only once none is left, so it is asked last. */
export const COMPLETIONS_REACHED: Ending = {
  type: "SuccessCriteriaMet",
  reason: "CompletionsReached",
  message: "Reached expected number of succeeded pods",
};

/** An end announced before stays; else failure comes before success. */
export function endingOf(tally: Tally, nowMs: number): Ending | undefined {
  const { job, indexes } = tally;
  return (
    announced(job) ??
    policyFailure(tally) ??
    limitFailure(tally, nowMs) ??
    (indexes && (indexFailure(job, indexes) ?? policySuccess(job, indexes)))
  );
}

export function announced({ status }: Job): Ending | undefined {
  for (const type of ["SuccessCriteriaMet", "FailureTarget"] as const) {
    const condition = findCondition(status.conditions, type);
    if (condition?.status !== "True") continue;
    const { reason = "", message = "" } = condition;
    return { type, reason, message };
  }
  return undefined;
}

export function isSuspended({ spec }: Job): boolean {
  return spec.suspend === true;
}

/** When a running Job is out of time. */
export function deadlineMs({ spec, status }: Job, nowMs: number): number | undefined {
  const { activeDeadlineSeconds, suspend } = spec;
  if (activeDeadlineSeconds === undefined || suspend === true) return undefined;
  const startMs = status.startTime === undefined ? nowMs : timeToMs(status.startTime);
  return startMs + activeDeadlineSeconds * 1000;
}

function policyFailure({ job, pods }: Tally): Ending | undefined {
  if (job.spec.podFailurePolicy === undefined) return undefined;
  for (const pod of pods) {
    const message = hasFailed(pod, job) ? verdictOn(pod, job).failsJob : undefined;
    if (message !== undefined) return failure("PodFailurePolicy", message);
  }
  return undefined;
}

function limitFailure(tally: Tally, nowMs: number): Ending | undefined {
  const { job, failed } = tally;
  const limit = job.spec.backoffLimit ?? 6;
  if (failed > limit || hasRestartedTooOften(tally, limit)) {
    return failure("BackoffLimitExceeded", "Job has reached the specified backoff limit");
  }
  if ((deadlineMs(job, nowMs) ?? Number.POSITIVE_INFINITY) <= nowMs) {
    return failure("DeadlineExceeded", "Job was active longer than specified deadline");
  }
  return undefined;
}

/** Pods that restart their containers themselves fail the Job by the sum of their restarts. */
function hasRestartedTooOften({ job, pods }: Tally, limit: number): boolean {
  if (job.spec.template.spec.restartPolicy !== "OnFailure") return false;
  const restarts = pods
    .filter(({ status }) => status.phase === "Running" || status.phase === "Pending")
    .flatMap(({ status }) => [
      ...(status.initContainerStatuses ?? []),
      ...(status.containerStatuses ?? []),
    ])
    .reduce((sum, { restartCount }) => sum + restartCount, 0);
  return limit === 0 ? restarts > 0 : restarts >= limit;
}

function indexFailure(job: Job, { failed, succeeded, completions }: IndexTally) {
  if (failed === undefined) return undefined;
  const { maxFailedIndexes } = job.spec;
  if (maxFailedIndexes !== undefined && failed.size > maxFailedIndexes) {
    const message = "Job has exceeded the specified maximal number of failed indexes";
    return failure("MaxFailedIndexesExceeded", message);
  }
  if (failed.size > 0 && failed.size + succeeded.size >= completions) {
    return failure("FailedIndexes", "Job has failed indexes");
  }
  return undefined;
}

function policySuccess(job: Job, { succeeded, completions }: IndexTally): Ending | undefined {
  if (succeeded.size === 0) return undefined;
  const matching = (job.spec.successPolicy?.rules ?? []).findIndex((rule) => {
    const { succeededIndexes, succeededCount = Number.POSITIVE_INFINITY } = rule;
    if (succeededIndexes === undefined) return succeeded.size >= succeededCount;
    const wanted = [...readIndexes(succeededIndexes, completions)];
    const met = wanted.filter((index) => succeeded.has(index)).length;
    return wanted.length > 0 && (met === wanted.length || met >= succeededCount);
  });
  if (matching < 0) return undefined;
  const message = `Matched rules at index ${matching}`;
  return { type: "SuccessCriteriaMet", reason: "SuccessPolicy", message };
}

function failure(reason: string, message: string): Ending {
  return { type: "FailureTarget", reason, message };
}
