import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { CronJob } from "#api/generated/batch.v1.ts";
import { parseSchedule } from "#api/kinds/batch/v1/schedule.ts";
import { timeFromMs, timeToMs } from "#api/meta/time.ts";
import { dueStart, nextStartInMs } from "./due-time.ts";

const ALWAYS = Number.NEGATIVE_INFINITY;
const CREATED = "2030-01-01T00:30:00Z";
const rows: readonly {
  readonly name: string;
  readonly schedule: string;
  readonly last?: string;
  readonly deadline?: number;
  readonly now: string;
  readonly due: string;
  readonly nextInSeconds: number;
}[] = [
  {
    name: "no start is due before the first time",
    schedule: "0 * * * *",
    now: "2030-01-01T00:59:59Z",
    due: "none",
    nextInSeconds: 1.1,
  },
  {
    name: "a start is due at its time",
    schedule: "0 * * * *",
    now: "2030-01-01T01:00:00Z",
    due: "2030-01-01T01:00:00Z",
    nextInSeconds: 3600.1,
  },
  {
    name: "no start is due after lastScheduleTime",
    schedule: "0 * * * *",
    last: "2030-01-01T01:00:00Z",
    now: "2030-01-01T01:00:10Z",
    due: "none",
    nextInSeconds: 3590.1,
  },
  {
    name: "of several missed times the latest is due",
    schedule: "0 * * * *",
    last: "2030-01-01T01:00:00Z",
    now: "2030-01-01T05:20:00Z",
    due: "2030-01-01T05:00:00Z",
    nextInSeconds: 2400.1,
  },
  {
    name: "more than a hundred missed",
    schedule: "* * * * *",
    last: "2030-01-01T01:00:00Z",
    now: "2030-01-01T02:50:30Z",
    due: "2030-01-01T02:50:00Z many",
    nextInSeconds: 30.1,
  },
  {
    name: "a deadline hides those long missed",
    schedule: "* * * * *",
    last: "2030-01-01T01:00:00Z",
    deadline: 120,
    now: "2030-01-01T02:50:30Z",
    due: "2030-01-01T02:50:00Z",
    nextInSeconds: 30.1,
  },
  {
    name: "too late for the deadline",
    schedule: "0 * * * *",
    deadline: 60,
    now: "2030-01-01T01:02:00Z",
    due: "none",
    nextInSeconds: 3480.1,
  },
  {
    name: "every so often, counted from the last start",
    schedule: "@every 7m",
    last: "2030-01-01T01:00:00Z",
    now: "2030-01-01T01:30:00Z",
    due: "2030-01-01T01:28:00Z",
    nextInSeconds: 300.1,
  },
  {
    name: "a day that never comes",
    schedule: "0 0 31 2 *",
    now: "2030-01-01T01:00:00Z",
    due: "never",
    nextInSeconds: 0.1,
  },
];

describe("dueStart of a CronJob", () => {
  for (const { name, schedule, last, deadline, now, due, nextInSeconds } of rows) {
    test(name, () => {
      const cronJob = {
        metadata: { creationTimestamp: CREATED },
        spec: deadline === undefined ? {} : { startingDeadlineSeconds: deadline },
        status: last === undefined ? {} : { lastScheduleTime: last },
      } as CronJob;
      const parsed = parseSchedule(schedule);
      assert.ok(parsed.ok);
      const found = dueStart(cronJob, parsed.value, ALWAYS, timeToMs(now));
      const text =
        found.kind === "start"
          ? timeFromMs(found.atMs) + (found.missedMany ? " many" : "")
          : found.kind;
      assert.equal(text, due);
      assert.equal(
        nextStartInMs(cronJob, parsed.value, ALWAYS, timeToMs(now)) / 1000,
        nextInSeconds,
      );
    });
  }
});
