import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { CronJob, CronJobSpec, CronJobStatus, Job } from "#api/generated/batch.v1.ts";
import { cronJobKind } from "#api/kinds/batch/v1/cron-job.ts";
import { jobKind } from "#api/kinds/batch/v1/job.ts";
import { build, type Draft } from "#testing/build.ts";
import { describeOutcome, type OutcomeText, written } from "#testing/decisions.ts";
import { type CronJobState, cronJobController } from "./cron-job.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

function cron(spec: Draft<CronJobSpec>, status: Draft<CronJobStatus>, created: string): CronJob {
  return build(cronJobKind, {
    metadata: { name: "tick", creationTimestamp: created },
    spec: {
      schedule: "0 * * * *",
      jobTemplate: { spec: { template: { spec: { containers: [{ name: "c" }] } } } },
      ...spec,
    },
    status,
  });
}

function job(name: string, end?: "Complete" | "Failed", at = "2030-01-01T00:00:10Z"): Job {
  const owner = { apiVersion: "batch/v1", kind: "CronJob", name: "tick", uid: "uid-tick" };
  return build(jobKind, {
    metadata: { name, ownerReferences: [{ ...owner, controller: true }], creationTimestamp: at },
    status: {
      startTime: at,
      ...(end === undefined ? {} : { conditions: [{ type: end, status: "True" as const }] }),
      ...(end === "Complete" ? { completionTime: at } : {}),
    },
  });
}

const listed = (of: Job) => ({
  apiVersion: "batch/v1",
  kind: "Job",
  namespace: "default",
  name: of.metadata.name ?? "",
  uid: of.metadata.uid ?? "",
});

interface Row {
  readonly name: string;
  readonly at: string;
  readonly created?: string;
  readonly spec?: Draft<CronJobSpec>;
  readonly status?: Draft<CronJobStatus>;
  readonly jobs?: readonly Job[];
  readonly known?: CronJobState["known"];
  readonly want: OutcomeText;
  readonly lastScheduleTime?: string;
}

const STARTED = (minutes: number): readonly string[] => [
  `create Job tick-${minutes}`,
  "update CronJob tick/status",
];
const AT_ONE = Date.parse("2030-01-01T01:00:00Z") / MINUTE_MS;
const RUNNING = job("tick-early");

const rows: readonly Row[] = [
  {
    name: "no Job is started before its time",
    at: "2030-01-01T00:59:59Z",
    want: { writes: [], recheckInMs: 1_100 },
  },
  {
    name: "a Job is started at its time",
    at: "2030-01-01T01:00:00Z",
    want: { writes: STARTED(AT_ONE), recheckInMs: HOUR_MS + 100 },
    lastScheduleTime: "2030-01-01T01:00:00Z",
  },
  {
    name: "a Job that was started for this time is not started again",
    at: "2030-01-01T01:00:01Z",
    status: { lastScheduleTime: "2030-01-01T01:00:00Z" },
    want: { writes: [], recheckInMs: HOUR_MS - 900 },
  },
  {
    name: "of several missed times only the last starts a Job",
    at: "2030-01-01T03:30:00Z",
    want: { writes: STARTED(AT_ONE + 120), recheckInMs: 30 * MINUTE_MS + 100 },
    lastScheduleTime: "2030-01-01T03:00:00Z",
  },
  {
    name: "more than a hundred missed times give a warning event, and the last starts a Job",
    at: "2030-01-06T03:30:00Z",
    want: {
      writes: STARTED(AT_ONE + 122 * 60),
      recheckInMs: 30 * MINUTE_MS + 100,
      events: [
        "Warning TooManyMissedTimes: too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew",
      ],
    },
  },
  {
    name: "a deadline that has passed",
    at: "2030-01-01T01:00:31Z",
    spec: { startingDeadlineSeconds: 30 },
    want: { writes: [], recheckInMs: 59 * MINUTE_MS + 29_100 },
  },
  {
    name: "a suspended CronJob starts nothing",
    at: "2030-01-01T01:00:00Z",
    spec: { suspend: true },
    want: { writes: [] },
  },
  {
    name: "concurrencyPolicy Forbid starts nothing while a Job runs",
    at: "2030-01-01T01:00:00Z",
    spec: { concurrencyPolicy: "Forbid" },
    status: { active: [listed(RUNNING)] },
    jobs: [RUNNING],
    want: {
      writes: [],
      recheckInMs: HOUR_MS + 100,
      events: [
        "Normal JobAlreadyActive: Not starting job because prior execution is running and concurrency policy is Forbid",
      ],
    },
  },
  {
    name: "concurrencyPolicy Replace deletes the running Job",
    at: "2030-01-01T01:00:00Z",
    spec: { concurrencyPolicy: "Replace" },
    status: { active: [listed(RUNNING)] },
    jobs: [RUNNING],
    want: {
      writes: ["delete Job tick-early", ...STARTED(AT_ONE)],
      recheckInMs: HOUR_MS + 100,
    },
  },
  {
    name: "a Job that has ended is removed from status.active",
    at: "2030-01-01T00:30:00Z",
    status: { active: [listed(job("a", "Complete"))] },
    jobs: [job("a", "Complete")],
    want: {
      writes: ["update CronJob tick/status"],
      recheckInMs: 30 * MINUTE_MS + 100,
      events: ["Normal SawCompletedJob: Saw completed job: a, condition: Complete"],
    },
  },
  {
    name: "a Job that is gone is removed from status.active",
    at: "2030-01-01T00:30:00Z",
    status: { active: [listed(RUNNING)] },
    want: {
      writes: ["update CronJob tick/status"],
      recheckInMs: 30 * MINUTE_MS + 100,
      events: ["Normal MissingJob: Active job went missing: tick-early"],
    },
  },
  {
    name: "history beyond the limits goes, the oldest first",
    at: "2030-01-01T00:30:00Z",
    spec: { successfulJobsHistoryLimit: 1, failedJobsHistoryLimit: 0 },
    status: { lastSuccessfulTime: "2030-01-01T00:00:10Z" },
    jobs: [
      job("new", "Complete"),
      job("old", "Complete", "2029-12-31T23:00:00Z"),
      job("bad", "Failed"),
    ],
    want: {
      writes: ["delete Job old", "delete Job bad"],
      recheckInMs: 30 * MINUTE_MS + 100,
    },
  },
  {
    name: "a zone of its own",
    at: "2030-01-01T02:00:00Z",
    spec: { schedule: "0 3 * * *", timeZone: "Europe/Berlin" },
    want: { writes: STARTED(AT_ONE + 60), recheckInMs: 24 * HOUR_MS + 100 },
  },
  {
    name: "in spring, a time that does not exist is passed over",
    at: "2030-03-31T02:00:00Z",
    created: "2030-03-30T12:00:00Z",
    spec: { schedule: "30 2 * * *", timeZone: "Europe/Berlin" },
    want: { writes: [], recheckInMs: 22.5 * HOUR_MS + 100 },
  },
  {
    name: "a schedule that changed makes up for nothing",
    at: "2030-01-01T05:30:00Z",
    known: { uid: "uid-tick", schedule: " 0 0 1 1 *", sinceMs: Number.NEGATIVE_INFINITY },
    want: { writes: [], recheckInMs: 30 * MINUTE_MS + 100 },
  },
  {
    name: "a zone in the schedule is not supported, but heeded",
    at: "2030-01-01T00:30:00Z",
    spec: { schedule: "TZ=UTC 0 * * * *" },
    want: {
      writes: [],
      recheckInMs: 30 * MINUTE_MS + 100,
      events: [
        'Warning UnsupportedSchedule: CRON_TZ or TZ used in schedule "TZ=UTC 0 * * * *" is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details',
      ],
    },
  },
];

describe("a CronJob decides", () => {
  for (const row of rows) {
    test(row.name, () => {
      const { spec = {}, status = {}, created = "2030-01-01T00:30:00Z", jobs = [] } = row;
      const state: CronJobState = {
        cronJob: cron(spec, status, created),
        jobs,
        namesakes: new Map(),
        known: row.known,
      };
      const outcome = cronJobController.decide(state, Date.parse(row.at));
      assert.deepEqual(describeOutcome(outcome), row.want);
      if (row.lastScheduleTime !== undefined) {
        const next = written(outcome, cronJobKind)?.status.lastScheduleTime;
        assert.equal(next, row.lastScheduleTime);
      }
    });
  }
});
