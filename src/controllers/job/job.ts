/**
 * Runs the pods of a Job until as many as it asks for have succeeded, or too many have failed.
 *
 * A round, in this order: create or delete pods, write the status with the pods that have ended, let
 * those go. Counting them and ending the Job is for the next round, which sees what came of it.
 */

import type { Job } from "#api/generated/batch.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { jobKind } from "#api/kinds/batch/v1/job.ts";
import { conditionIsTrue } from "#api/kinds/batch/v1/job-status.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { matchesLabels, selectorOf } from "#api/meta/label-selector.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import {
  because,
  type Caches,
  defineController,
  type EventNote,
  type Key,
  type Outcome,
  ownKey,
  type RefusalOutcome,
  type RefusedWrite,
} from "#runtime/controller.ts";
import { noted, updateStatus, type Write } from "#runtime/writes.ts";
import { measureJobs } from "../metrics/jobs.ts";
import { candidatePods, keysOfPod, orphanPods } from "../replica-set.ts";
import { claim, controllerOf } from "../shared/ownership.ts";
import { type Setbacks, setbacksNow } from "./back-off.ts";
import { COMPLETIONS_REACHED, deadlineMs, type Ending, endingOf, isSuspended } from "./ending.ts";
import { NO_SCALING, type Scaling, scale, stopAll } from "./scaling.ts";
import { progressOf } from "./status.ts";
import { type Tally, tallyOf } from "./tally.ts";
import { isTracked, TRACKING_FINALIZER, untrack } from "./tracked-pod.ts";

const CONTROLLER_NAME = "kubernetes.io/job-controller";
/** Keys of pods that carry the finalizer but may have no Job that takes it off. */
const STRAY = "pods";

const COMPLETION_MODES: ReadonlySet<string> = new Set(["NonIndexed", "Indexed"]);

export type JobState =
  | {
      readonly about: "job";
      readonly job: Job;
      readonly pods: readonly Pod[];
      readonly setbacks: Setbacks | undefined;
    }
  | { readonly about: "stray"; readonly pod: Pod }
  | { readonly about: "nothing" };

export const jobController = defineController<JobState, Setbacks>({
  name: "job-controller",
  rule: "pods are created up to parallelism until completions succeeded; failures count against the limits",
  feeds: [
    {
      kind: jobKind,
      keys: (job: Job, caches) => [...ownKey(job), ...straysOf(job, caches)],
    },
    {
      kind: podKind,
      keys: (pod: Pod, caches) => [
        ...keysOfPod(pod, caches, jobKind),
        ...(isStray(pod, caches) ? [strayKey(pod)] : []),
      ],
    },
  ],
  indexes: [orphanPods],
  observe: (caches, key, _reader, setbacks) => observe(caches, key, setbacks),
  decide,
  decideRefused,
  measure: measureJobs,
});

function observe(
  caches: Caches,
  { resource, namespace, name }: Key,
  setbacks: Setbacks | undefined,
): JobState {
  if (resource === STRAY) {
    const pod = caches(podKind).get(namespace, name);
    const stray = pod !== undefined && isStray(pod, caches);
    return stray ? { about: "stray", pod } : { about: "nothing" };
  }
  const job = caches(jobKind).get(namespace, name);
  if (job === undefined) return { about: "nothing" };
  return { about: "job", job, pods: candidatePods(caches, job), setbacks };
}

function decide(state: JobState, nowMs: number): Outcome<Setbacks> {
  if (state.about === "nothing") return { remember: undefined };
  if (state.about === "stray") {
    return { writes: [untrack(state.pod)], because: "no running Job tracks the pod any more" };
  }
  const { job } = state;
  if (isManagedElsewhere(job) || isOver(job)) return { remember: undefined };
  if (!COMPLETION_MODES.has(job.spec.completionMode ?? "NonIndexed")) return modeUnknown(job);
  const looked = lookAt(job, state.pods, state.setbacks, nowMs);
  const { claims, tally, setbacks, ending, scaling } = looked;
  const recheckInMs = recheck(job, scaling, nowMs);
  return because(ruleOf(job, ending, scaling), {
    writes: [
      ...claims.writes,
      ...scaling.writes,
      ...trackingWrites(tally, ending, scaling, nowMs),
    ].filter((step) => !Array.isArray(step) || step.length > 0),
    events: tooMany(job, tally, ending),
    remember: setbacks,
    ...(recheckInMs === undefined ? {} : { recheckInMs }),
  });
}

function ruleOf(job: Job, ending: Ending | undefined, { created, deleted }: Scaling): string {
  if (ending !== undefined) return `the Job ends: ${ending.reason}`;
  if (created > 0) return "fewer pods run than parallelism and the missing completions ask for";
  if (deleted.length === 0) return "pods that ended are counted and let go";
  return isSuspended(job)
    ? "the Job is suspended"
    : "more pods run than parallelism and the missing completions ask for";
}

/** Pods that could not be made or deleted must not keep others from being counted. */
function decideRefused(state: JobState, { write }: RefusedWrite, nowMs: number): RefusalOutcome {
  if (state.about !== "job") return {};
  const { tally, scaling } = lookAt(state.job, state.pods, state.setbacks, nowMs);
  const isScaling =
    write.op === "create" ||
    ("target" in write &&
      scaling.deleted.some(({ metadata }) => metadata.uid === write.target.uid));
  if (write.kind !== podKind || !isScaling) return {};
  return { writes: trackingWrites(tally, undefined, NO_SCALING, nowMs).flat() };
}

function lookAt(job: Job, pods: readonly Pod[], before: Setbacks | undefined, nowMs: number) {
  const claims = claimsOf(job, pods);
  const tally = tallyOf(job, claims.owned);
  const { newlySucceeded, newlyFailed } = tally;
  const setbacks = setbacksNow(before, job.metadata.uid ?? "", newlySucceeded, newlyFailed);
  return { claims, tally, setbacks, ...plan(tally, setbacks, nowMs) };
}

function claimsOf(job: Job, pods: readonly Pod[]) {
  const selector = selectorOf(job.spec.selector);
  const owner = { kind: jobKind, object: job };
  const isSelected = ({ metadata }: Pod): boolean =>
    matchesLabels(selector.ok ? selector.value : "nothing", metadata.labels);
  return claim(owner, podKind, pods, isSelected, [TRACKING_FINALIZER]);
}

/** A server that is newer than this may know more modes. */
function modeUnknown(job: Job): Outcome {
  const message = "Skipped Job sync because completion mode is unknown";
  const events: EventNote[] = [
    { about: job, type: "Warning", reason: "UnknownCompletionMode", message },
  ];
  return { events, because: "the completion mode is unknown" };
}

interface Plan {
  readonly ending: Ending | undefined;
  readonly scaling: Scaling;
}

function plan(tally: Tally, setbacks: Setbacks, nowMs: number): Plan {
  const { job, active, succeeded } = tally;
  const ending = endingOf(tally, nowMs);
  if (ending !== undefined) return { ending, scaling: stopAll(tally) };
  const scaling =
    job.metadata.deletionTimestamp === undefined ? scale(tally, setbacks, nowMs) : NO_SCALING;
  const running = active.length + scaling.created - scaling.deleted.length;
  const isEnough = succeeded >= (job.spec.completions ?? 1);
  return { ending: isEnough && running === 0 ? COMPLETIONS_REACHED : undefined, scaling };
}

function trackingWrites(
  tally: Tally,
  ending: Ending | undefined,
  scaling: Scaling,
  nowMs: number,
): readonly (Write | readonly Write[])[] {
  const { job } = tally;
  const { status, untracked, event } = progressOf(tally, ending, scaling, nowMs);
  const write = updateStatus(jobKind, { ...job, status });
  const withEvent =
    event === undefined ? write : noted(write, { onDone: { ...event, about: job } });
  return [...(semanticEqual(status, job.status) ? [] : [withEvent]), untracked.map(untrack)];
}

function tooMany(job: Job, { succeeded }: Tally, ending: Ending | undefined): readonly EventNote[] {
  const isFirst = ending !== undefined && !conditionIsTrue(job.status.conditions, ending.type);
  if (!isFirst || ending?.type !== "SuccessCriteriaMet") return [];
  if (succeeded <= (job.spec.completions ?? Number.POSITIVE_INFINITY)) return [];
  const message = "Too many succeeded pods running after completion count reached";
  return [{ about: job, type: "Warning", reason: "TooManySucceededPods", message }];
}

function recheck(job: Job, { recheckInMs }: Scaling, nowMs: number): number | undefined {
  const endMs = deadlineMs(job, nowMs);
  const deadlineInMs = endMs !== undefined && endMs > nowMs ? endMs - nowMs : undefined;
  const soonest = Math.min(recheckInMs ?? Infinity, deadlineInMs ?? Infinity);
  return soonest === Infinity ? undefined : soonest;
}

function isOver({ status }: Job): boolean {
  return (
    conditionIsTrue(status.conditions, "Complete") || conditionIsTrue(status.conditions, "Failed")
  );
}

function isManagedElsewhere({ spec }: Job): boolean {
  return spec.managedBy !== undefined && spec.managedBy !== CONTROLLER_NAME;
}

/** Whether no running Job of ours takes the finalizer off: it is gone or over, or was never there. */
function isStray(pod: Pod, caches: Caches): boolean {
  if (!isTracked(pod)) return false;
  const controller = controllerOf(pod);
  if (controller === undefined) return true;
  if (controller.kind !== "Job" || controller.apiVersion !== jobKind.apiVersion) return false;
  const job = caches(jobKind).byUid(controller.uid);
  return job === undefined || (!isManagedElsewhere(job) && isOver(job));
}

function straysOf(job: Job, caches: Caches): readonly Key[] {
  const current = caches(jobKind).byUid(job.metadata.uid ?? "");
  if (current !== undefined && !isOver(current)) return [];
  return [...caches(podKind).controlledBy(job.metadata.uid ?? "")].filter(isTracked).map(strayKey);
}

function strayKey({ metadata }: Pod): Key {
  return { resource: STRAY, namespace: metadata.namespace, name: metadata.name ?? "" };
}
