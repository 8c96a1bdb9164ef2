/**
 * What a controller may report about a Job. Other controllers than the built-in one can own Jobs, so
 * the rules are strict; each is asked only when what it is about changes, so that a status which
 * breaks it already can still be updated.
 */

import type { Job, JobCondition, JobStatus } from "#api/generated/batch.v1.ts";
import { validateCounts } from "#api/kinds/core/v1/workload/workload.ts";
import {
  duplicate,
  type FieldError,
  invalid,
  OMITTED,
  required,
} from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { Path } from "#api/validation/path.ts";
import { firstOverlap, parseIndexes } from "./indexes.ts";

const STATUS = Path.of("status");
const CONDITIONS = STATUS.child("conditions");

export function conditionIsTrue(conditions: JobStatus["conditions"], type: string): boolean {
  return hasCondition(conditions, type, "True");
}

export function validateJobStatusUpdate(job: Job, old: Job): FieldError[] {
  const facts = compare(job, old);
  return [
    ...validateKubeMetaUpdate(job, old),
    ...validateCounts(
      job.status,
      ["active", "succeeded", "failed", "ready", "terminating"],
      STATUS,
    ),
    ...validateUncounted(job.status),
    ...validateEnd(facts),
    ...validateFinished(facts),
    ...validateIndexes(facts),
    ...validatePodCounts(facts),
    ...validateCriteria(facts),
    ...validateProgress(facts),
    ...validateTimesKept(facts),
    ...validateCriteriaKept(facts),
  ];
}

/** The conditions that matter, as they are and as they were. */
interface Ends {
  readonly complete: boolean;
  readonly failed: boolean;
  readonly failureTarget: boolean;
  readonly criteriaMet: boolean;
}

interface Facts {
  readonly job: Job;
  readonly status: JobStatus;
  readonly old: JobStatus;
  readonly now: Ends;
  readonly before: Ends;
  readonly isIndexed: boolean;
  /** Whether any of these fields or conditions differs. */
  readonly changed: (...names: readonly (keyof JobStatus | keyof Ends | "finished")[]) => boolean;
}

function compare(job: Job, oldJob: Job): Facts {
  const { status } = job;
  const old = oldJob.status;
  const now = endsOf(status);
  const before = endsOf(old);
  const changed: Facts["changed"] = (...names) =>
    names.some((name) => {
      if (name === "finished") return isFinished(now) !== isFinished(before);
      if (Object.hasOwn(now, name)) return now[name as keyof Ends] !== before[name as keyof Ends];
      return !semanticEqual(status[name as keyof JobStatus], old[name as keyof JobStatus]);
    });
  const isIndexed = job.spec.completionMode === "Indexed";
  return { job, status, old, now, before, isIndexed, changed };
}

function endsOf({ conditions }: JobStatus): Ends {
  return {
    complete: conditionIsTrue(conditions, "Complete"),
    failed: conditionIsTrue(conditions, "Failed"),
    failureTarget: conditionIsTrue(conditions, "FailureTarget"),
    criteriaMet: conditionIsTrue(conditions, "SuccessCriteriaMet"),
  };
}

function isFinished({ complete, failed }: Ends): boolean {
  return complete || failed;
}

function hasCondition(
  conditions: readonly JobCondition[] | null | undefined,
  type: string,
  value: string,
): boolean {
  return (conditions ?? []).some((c) => c.type === type && c.status === value);
}

function conditionFault(detail: string): FieldError {
  return invalid(CONDITIONS, OMITTED, detail);
}

function validateUncounted({ uncountedTerminatedPods }: JobStatus): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const list of ["succeeded", "failed"] as const) {
    for (const [i, uid] of (uncountedTerminatedPods?.[list] ?? []).entries()) {
      const at = STATUS.child("uncountedTerminatedPods", list).index(i);
      if (uid === "") errors.push(invalid(at, uid, "must not be empty"));
      else if (seen.has(uid)) errors.push(duplicate(at, uid));
      seen.add(uid);
    }
  }
  return errors;
}

/** A Job ends in one way, after the conditions that announce it, and then has its times. */
function validateEnd({ status, now, changed }: Facts): FieldError[] {
  const errors: FieldError[] = [];
  const at = STATUS.child("completionTime");
  const { startTime, completionTime } = status;
  if (changed("complete", "failed") && now.complete && now.failed) {
    errors.push(conditionFault("cannot set Complete=True and Failed=true conditions"));
  }
  if (changed("complete", "failureTarget") && now.complete && now.failureTarget) {
    errors.push(conditionFault("cannot set Complete=True and FailureTarget=true conditions"));
  }
  if (changed("complete", "completionTime")) {
    if (completionTime !== undefined && !now.complete) {
      const detail = "cannot set completionTime when there is no Complete=True condition";
      errors.push(invalid(at, completionTime, detail));
    }
    if (completionTime === undefined && now.complete) {
      errors.push(required(at, "completionTime is required for Complete jobs"));
    }
  }
  if (changed("startTime", "completionTime") && isBefore(completionTime, startTime)) {
    errors.push(invalid(at, completionTime, "must be equal to or after `startTime`"));
  }
  if (changed("failed", "failedIndexes") && now.failed && !now.failureTarget) {
    const detail = "cannot set Failed=True condition without the FailureTarget=true condition";
    errors.push(conditionFault(detail));
  }
  if (changed("complete", "criteriaMet") && now.complete && !now.criteriaMet) {
    const detail =
      "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
    errors.push(conditionFault(detail));
  }
  return errors;
}

function isBefore(time: string | undefined, other: string | undefined): boolean {
  return time !== undefined && other !== undefined && Date.parse(time) < Date.parse(other);
}

/** Nothing of a finished Job runs any more, and it has started once. */
function validateFinished({ job, status, now, changed }: Facts): FieldError[] {
  if (!isFinished(now)) return [];
  const errors: FieldError[] = [];
  const { active = 0, startTime, uncountedTerminatedPods: uncounted } = status;
  if (changed("finished", "active") && active > 0) {
    errors.push(invalid(STATUS.child("active"), active, "active>0 is invalid for finished job"));
  }
  const neverRan = job.spec.suspend === true && job.spec.completions === 0;
  if (changed("finished", "startTime") && !neverRan && startTime === undefined) {
    errors.push(required(STATUS.child("startTime"), "startTime is required for finished job"));
  }
  const left = (uncounted?.failed ?? []).length + (uncounted?.succeeded ?? []).length;
  if (changed("finished", "uncountedTerminatedPods") && left > 0) {
    const shown = internalForm("batch.v1.UncountedTerminatedPods", uncounted);
    const at = STATUS.child("uncountedTerminatedPods");
    errors.push(invalid(at, shown, "must be empty for finished job"));
  }
  return errors;
}

function validateIndexes({ job, status, isIndexed, changed }: Facts): FieldError[] {
  const { completions, backoffLimitPerIndex } = job.spec;
  const { completedIndexes = "", failedIndexes } = status;
  const completedChanged = changed("completedIndexes");
  const failedChanged = changed("failedIndexes");
  const completedPath = STATUS.child("completedIndexes");
  const failedPath = STATUS.child("failedIndexes");
  const errors: FieldError[] = [];
  if (completedChanged && completions !== undefined) {
    errors.push(...validateIndexText(completedIndexes, completions, completedPath));
  }
  const hasFailed = failedIndexes !== undefined;
  if (
    failedChanged &&
    completions !== undefined &&
    backoffLimitPerIndex !== undefined &&
    hasFailed
  ) {
    errors.push(...validateIndexText(failedIndexes, completions, failedPath));
  }
  if (completedChanged && completedIndexes !== "" && !isIndexed) {
    const detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
    errors.push(invalid(completedPath, completedIndexes, detail));
  }
  if (failedChanged && backoffLimitPerIndex === undefined && hasFailed) {
    const detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
    errors.push(invalid(failedPath, failedIndexes, detail));
  }
  if ((failedChanged || completedChanged) && completions !== undefined && hasFailed) {
    const overlap = firstOverlap(completedIndexes, failedIndexes, completions);
    if (overlap !== undefined) {
      const detail = `failedIndexes and completedIndexes overlap at index: ${overlap}`;
      errors.push(invalid(failedPath, failedIndexes, detail));
    }
  }
  return errors;
}

function validateIndexText(text: string, completions: number, path: Path): FieldError[] {
  const parsed = parseIndexes(text, completions);
  if (parsed.ok) return [];
  const field = path.toString().slice("status.".length);
  return [invalid(path, text, `error parsing ${field}: ${parsed.error}`)];
}

function validatePodCounts({ status, now, changed }: Facts): FieldError[] {
  const { terminating = 0, ready = 0, active = 0 } = status;
  const errors: FieldError[] = [];
  if (changed("finished", "terminating") && terminating > 0 && isFinished(now)) {
    const detail = "terminating>0 is invalid for finished job";
    errors.push(invalid(STATUS.child("terminating"), terminating, detail));
  }
  if (changed("ready", "active") && status.ready !== undefined && ready > active) {
    errors.push(invalid(STATUS.child("ready"), ready, "cannot set more ready pods than active"));
  }
  return errors;
}

function validateCriteria({ job, now }: Facts): FieldError[] {
  const errors: FieldError[] = [];
  if (now.criteriaMet && now.failed) {
    errors.push(conditionFault("cannot set SuccessCriteriaMet=True and Failed=true conditions"));
  }
  if (now.criteriaMet && now.failureTarget) {
    const detail = "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions";
    errors.push(conditionFault(detail));
  }
  if (job.spec.successPolicy !== undefined && !now.criteriaMet && now.complete) {
    const detail =
      "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
    errors.push(conditionFault(detail));
  }
  return errors;
}

/** An end is an end, and counters do not go back. */
function validateProgress({ job, status, old, now, before, isIndexed }: Facts): FieldError[] {
  const errors: FieldError[] = [];
  const ends = { Failed: "failed", Complete: "complete", FailureTarget: "failureTarget" } as const;
  for (const [type, end] of Object.entries(ends)) {
    if (!before[end] || now[end]) continue;
    errors.push(conditionFault(`cannot disable the terminal ${type}=True condition`));
  }
  const { failed = 0, succeeded = 0 } = status;
  if (failed < (old.failed ?? 0)) {
    errors.push(invalid(STATUS.child("failed"), failed, "cannot decrease the failed counter"));
  }
  const { completions, parallelism } = job.spec;
  const canShrink = isIndexed && completions === parallelism;
  if (!canShrink && succeeded < (old.succeeded ?? 0)) {
    const detail = "cannot decrease the succeeded counter";
    errors.push(invalid(STATUS.child("succeeded"), succeeded, detail));
  }
  return errors;
}

function validateTimesKept({ job, status, old }: Facts): FieldError[] {
  const errors: FieldError[] = [];
  const { startTime, completionTime } = status;
  if (completionTime && old.completionTime && completionTime !== old.completionTime) {
    errors.push(invalid(STATUS.child("completionTime"), completionTime, "field is immutable"));
  }
  const isResuming =
    hasCondition(old.conditions, "Suspended", "True") &&
    hasCondition(status.conditions, "Suspended", "False");
  const moved = old.startTime !== undefined && old.startTime !== startTime;
  if (moved && !isResuming && job.spec.suspend !== true) {
    const detail = "field is immutable for unsuspended job once set";
    errors.push(invalid(STATUS.child("startTime"), startTime ?? null, detail));
  }
  return errors;
}

function validateCriteriaKept({ now, before }: Facts): FieldError[] {
  const errors: FieldError[] = [];
  if (before.criteriaMet && !now.criteriaMet) {
    errors.push(conditionFault("cannot disable the SuccessCriteriaMet=True condition"));
  }
  if (before.complete && !before.criteriaMet && now.criteriaMet) {
    const detail =
      "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
    errors.push(conditionFault(detail));
  }
  return errors;
}
