/**
 * Starts a Job whenever a CronJob's schedule comes round, and clears away those that have finished.
 *
 * A start is one Job, whatever crashes: its name is made from the scheduled minute, so it cannot be
 * made twice. The Job is listed as active when it is seen.
 */

import type { CronJob, CronJobStatus, Job } from "#api/generated/batch.v1.ts";
import type { ObjectReference } from "#api/generated/core.v1.ts";
import { cronJobKind } from "#api/kinds/batch/v1/cron-job.ts";
import { jobKind } from "#api/kinds/batch/v1/job.ts";
import { type ParsedSchedule, parseSchedule } from "#api/kinds/batch/v1/schedule.ts";
import { isTimeZone } from "#api/kinds/batch/v1/time-zone.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { timeFromMs, timeToMs } from "#api/meta/time.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import {
  because,
  type Caches,
  controllerKey,
  defineController,
  type EventNote,
  idle,
  type Key,
  type Outcome,
  ownKey,
} from "#runtime/controller.ts";
import { updateStatus, type Write } from "#runtime/writes.ts";
import { measureCronJobs } from "../metrics/jobs.ts";
import { byNamePrefix, namedAfter } from "../shared/name-prefix.ts";
import { type Due, dueStart, nextStartInMs } from "./due-time.ts";
import { type KnownSchedule, scheduleNow } from "./known-schedule.ts";
import {
  byStart,
  createJob,
  deleteJob,
  endOf,
  jobName,
  referenceTo,
  warning,
} from "./started-job.ts";

export interface CronJobState {
  readonly cronJob: CronJob;
  readonly jobs: readonly Job[];
  /** Jobs with a name of the form that its own have, with any owner. */
  readonly namesakes: ReadonlyMap<string, Job>;
  /** The schedule that it had when it was looked at last. */
  readonly known: KnownSchedule | undefined;
}

export const cronJobController = defineController<CronJobState | undefined, KnownSchedule>({
  name: "cronjob-controller",
  rule: "a Job is started at each scheduled time, as the concurrency policy allows; finished ones beyond the limits are deleted",
  feeds: [
    { kind: cronJobKind, keys: ownKey },
    { kind: jobKind, keys: controllerKey(cronJobKind) },
  ],
  indexes: [byNamePrefix(jobKind)],
  observe: (caches, key, _reader, known) => observe(caches, key, known),
  decide: (state, nowMs) => (state === undefined ? idle : decide(state, nowMs)),
  measure: measureCronJobs,
});

function observe(
  caches: Caches,
  { namespace, name }: Key,
  known: KnownSchedule | undefined,
): CronJobState | undefined {
  const cronJob = caches(cronJobKind).get(namespace, name);
  if (cronJob === undefined) return undefined;
  return {
    cronJob,
    jobs: [...caches(jobKind).controlledBy(cronJob.metadata.uid ?? "")],
    namesakes: namedAfter(caches, jobKind, namespace, name),
    known,
  };
}

function decide(state: CronJobState, nowMs: number): Outcome<KnownSchedule> {
  const { cronJob } = state;
  const known = scheduleNow(state.known, cronJob, nowMs);
  const cleanup = historyWrites(state);
  const { status, events } = review(state);
  const reviewed = { ...state, cronJob: { ...cronJob, status } };
  const round = startRound(reviewed, known.sinceMs, nowMs);
  const next = round.status ?? status;
  const rule =
    round.rule ??
    (cleanup.length > 0
      ? "finished Jobs beyond the history limits are deleted"
      : "the status follows the Jobs");
  return because(rule, {
    writes: [
      ...cleanup,
      ...(round.writes ?? []),
      ...(semanticEqual(next, cronJob.status)
        ? []
        : [updateStatus(cronJobKind, { ...cronJob, status: next })]),
    ],
    events: [...events, ...(round.events ?? [])],
    remember: known,
    ...(round.recheckInMs === undefined ? {} : { recheckInMs: round.recheckInMs }),
  });
}

/** The finished Jobs beyond the limits, those that started first. */
function historyWrites({ cronJob, jobs }: CronJobState): readonly Write[] {
  const { successfulJobsHistoryLimit, failedJobsHistoryLimit } = cronJob.spec;
  const limits = { Complete: successfulJobsHistoryLimit, Failed: failedJobsHistoryLimit };
  return (["Complete", "Failed"] as const).flatMap((type) => {
    const finished = jobs.filter((job) => endOf(job) === type).sort(byStart);
    const surplus = finished.length - (limits[type] ?? Number.POSITIVE_INFINITY);
    return finished.slice(0, Math.max(0, surplus)).map((job) => deleteJob(cronJob, job));
  });
}

interface Review {
  readonly status: CronJobStatus;
  readonly events: readonly EventNote[];
}

/** Brings the list of active Jobs and the time of the last success up to date. */
function review({ cronJob, jobs }: CronJobState): Review {
  const { active = [], lastScheduleTime } = cronJob.status;
  const listed = new Set(active.map(({ uid }) => uid));
  const running = new Map(
    jobs.filter((job) => endOf(job) === undefined).map((job) => [job.metadata.uid, job]),
  );
  const events: EventNote[] = [];
  const record = (type: EventNote["type"], reason: string, message: string): void =>
    void events.push({ about: cronJob, type, reason, message });
  const found: ObjectReference[] = [];
  for (const job of jobs) {
    const name = job.metadata.name ?? "";
    const end = endOf(job);
    if (listed.has(job.metadata.uid)) {
      const message = `Saw completed job: ${name}, condition: ${end}`;
      if (end !== undefined) record("Normal", "SawCompletedJob", message);
    } else if (end === undefined) {
      const isOurs =
        lastScheduleTime !== undefined && name === jobName(cronJob, timeToMs(lastScheduleTime));
      if (isOurs) found.push(referenceTo(job));
      else {
        const message = `Saw a job that the controller did not create or forgot: ${name}`;
        record("Warning", "UnexpectedJob", message);
      }
    }
  }
  const uids = new Set(jobs.map(({ metadata }) => metadata.uid));
  for (const { uid, name } of active) {
    if (!uids.has(uid)) record("Normal", "MissingJob", `Active job went missing: ${name}`);
  }
  const staying = active.filter(({ uid }) => running.has(uid));
  const lastSuccessfulTime = latest(cronJob.status.lastSuccessfulTime, jobs);
  return {
    status: {
      ...withActive([...staying, ...found]),
      ...(lastScheduleTime === undefined ? {} : { lastScheduleTime }),
      ...(lastSuccessfulTime === undefined ? {} : { lastSuccessfulTime }),
    },
    events,
  };
}

interface Round extends Pick<Outcome, "events" | "recheckInMs"> {
  readonly writes?: readonly Write[];
  readonly status?: CronJobStatus;
  readonly rule?: string;
}

function startRound(state: CronJobState, sinceMs: number, nowMs: number): Round {
  const { cronJob } = state;
  const { timeZone, suspend, schedule: text } = cronJob.spec;
  if (cronJob.metadata.deletionTimestamp !== undefined) return {};
  if (timeZone !== undefined && !isTimeZone(timeZone)) {
    const message = `invalid timeZone: ${goQuote(timeZone)}: unknown time zone ${timeZone}`;
    const rule = "the time zone is unknown";
    return { events: [warning(cronJob, "UnknownTimeZone", message)], rule };
  }
  if (suspend === true) return {};
  const parsed = scheduleOf(cronJob);
  const events = unsupported(cronJob);
  if (!parsed.ok) {
    const message = `unparseable schedule: ${goQuote(text)} : ${parsed.error}`;
    const rule = "the schedule cannot be parsed";
    return { events: [...events, warning(cronJob, "UnparseableSchedule", message)], rule };
  }
  const due = dueStart(cronJob, parsed.value, sinceMs, nowMs);
  if (due.kind === "never") {
    const message = `invalid schedule: ${text} : time difference between two schedules is less than 1 second`;
    const rule = "the schedule has no start";
    return { events: [...events, warning(cronJob, "InvalidSchedule", message)], rule };
  }
  const later = { recheckInMs: nextStartInMs(cronJob, parsed.value, sinceMs, nowMs) };
  if (due.kind !== "start") return { events, ...later };
  const round = start(state, due, nowMs);
  const { status } = round;
  if (status !== undefined) {
    const started = { ...cronJob, status };
    later.recheckInMs = nextStartInMs(started, parsed.value, sinceMs, nowMs);
  }
  const missed = due.missedMany ? [tooManyMissed(cronJob)] : [];
  return { ...round, ...later, events: [...events, ...missed, ...(round.events ?? [])] };
}

/** What becomes of a start that is due. */
function start(
  state: CronJobState,
  { atMs }: Extract<Due, { kind: "start" }>,
  nowMs: number,
): Round {
  const { cronJob, jobs } = state;
  const { startingDeadlineSeconds = Number.POSITIVE_INFINITY, concurrencyPolicy } = cronJob.spec;
  const { active = [], lastScheduleTime } = cronJob.status;
  if (atMs + startingDeadlineSeconds * 1000 < nowMs) {
    const message = `Missed scheduled time to start a job: ${httpDate(atMs)}`;
    const rule = "startingDeadlineSeconds passed before the Job could be started";
    return { events: [warning(cronJob, "MissSchedule", message)], rule };
  }
  const name = jobName(cronJob, atMs);
  const isDone = lastScheduleTime !== undefined && timeToMs(lastScheduleTime) === atMs;
  if (isDone || active.some((reference) => reference.name === name)) return {};
  if (concurrencyPolicy === "Forbid" && active.length > 0) {
    const message =
      "Not starting job because prior execution is running and concurrency policy is Forbid";
    const event = { about: cronJob, type: "Normal", reason: "JobAlreadyActive", message } as const;
    return { events: [event], rule: "concurrencyPolicy Forbid: a Job of it still runs" };
  }
  const existing = state.namesakes.get(name);
  if (existing !== undefined && !jobs.includes(existing)) return {};
  const uids = new Set(active.map(({ uid }) => uid));
  const replaced =
    concurrencyPolicy === "Replace" ? jobs.filter((job) => uids.has(job.metadata.uid)) : [];
  const { active: _, ...rest } = cronJob.status;
  const status = {
    ...withActive(concurrencyPolicy === "Replace" ? [] : active),
    ...rest,
    lastScheduleTime: timeFromMs(atMs),
  };
  return {
    writes: [
      ...replaced.map((job) => deleteJob(cronJob, job)),
      ...(existing === undefined ? [createJob(cronJob, atMs)] : []),
    ],
    status,
    rule:
      replaced.length > 0
        ? "concurrencyPolicy Replace: the Job that is due replaces those that run"
        : "a scheduled time has come",
  };
}

function scheduleOf({ spec }: CronJob): ParsedSchedule {
  const { schedule, timeZone } = spec;
  const isZoned = schedule.includes("TZ") || timeZone === undefined;
  return parseSchedule(isZoned ? schedule : `TZ=${timeZone} ${schedule}`);
}

function latest(known: string | undefined, jobs: readonly Job[]): string | undefined {
  return jobs
    .filter((job) => endOf(job) === "Complete")
    .reduce<string | undefined>((time, { status: { completionTime } }) => {
      if (completionTime === undefined) return time;
      const isLater = time === undefined || timeToMs(completionTime) > timeToMs(time);
      return isLater ? completionTime : time;
    }, known);
}

function withActive(active: readonly ObjectReference[]): Pick<CronJobStatus, "active"> {
  return active.length === 0 ? {} : { active };
}

function unsupported(cronJob: CronJob): readonly EventNote[] {
  const { schedule } = cronJob.spec;
  if (!schedule.includes("TZ")) return [];
  const message = `CRON_TZ or TZ used in schedule ${goQuote(schedule)} is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details`;
  return [warning(cronJob, "UnsupportedSchedule", message)];
}

function tooManyMissed(cronJob: CronJob): EventNote {
  const message =
    "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
  return warning(cronJob, "TooManyMissedTimes", message);
}

/** RFC 1123 with a numeric zone. */
function httpDate(atMs: number): string {
  return new Date(atMs).toUTCString().replace("GMT", "+0000");
}
