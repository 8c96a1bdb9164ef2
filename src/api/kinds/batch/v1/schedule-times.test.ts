import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { timeFromMs, timeToMs } from "#api/meta/time.ts";
import { parseSchedule } from "./schedule.ts";
import { nextTimeMs } from "./schedule-times.ts";

/** The next few times after an instant. */
function times(schedule: string, after: string, count: number): readonly string[] {
  const parsed = parseSchedule(schedule);
  assert.ok(parsed.ok, parsed.ok ? "" : parsed.error);
  const found: string[] = [];
  let atMs: number | undefined = timeToMs(after);
  while (found.length < count) {
    atMs = nextTimeMs(parsed.value, atMs);
    if (atMs === undefined) return [...found, "never"];
    found.push(timeFromMs(atMs));
  }
  return found;
}

const rows: readonly { name: string; schedule: string; after: string; want: readonly string[] }[] =
  [
    {
      name: "a time is not its own successor",
      schedule: "0 * * * *",
      after: "2030-01-01T00:00:00Z",
      want: ["2030-01-01T01:00:00Z", "2030-01-01T02:00:00Z"],
    },
    {
      name: "steps start afresh each hour",
      schedule: "*/25 * * * *",
      after: "2030-01-01T00:26:00Z",
      want: ["2030-01-01T00:50:00Z", "2030-01-01T01:00:00Z", "2030-01-01T01:25:00Z"],
    },
    {
      name: "mon-fri leaves out the weekend",
      schedule: "30 8 * * mon-fri",
      after: "2030-01-04T08:30:00Z", // a Friday
      want: ["2030-01-07T08:30:00Z", "2030-01-08T08:30:00Z"],
    },
    {
      name: "days of month and of week: either will do",
      schedule: "0 0 13 * 5",
      after: "2030-09-05T00:00:00Z",
      want: ["2030-09-06T00:00:00Z", "2030-09-13T00:00:00Z", "2030-09-20T00:00:00Z"],
    },
    {
      name: "months that are long enough",
      schedule: "0 0 31 * *",
      after: "2030-01-31T00:00:00Z",
      want: ["2030-03-31T00:00:00Z", "2030-05-31T00:00:00Z"],
    },
    {
      name: "29 February",
      schedule: "0 0 29 2 *",
      after: "2030-01-01T00:00:00Z",
      want: ["2032-02-29T00:00:00Z", "2036-02-29T00:00:00Z"],
    },
    { name: "30 February", schedule: "0 0 30 2 *", after: "2030-01-01T00:00:00Z", want: ["never"] },
    {
      name: "every 90 minutes, from wherever one stands",
      schedule: "@every 90m",
      after: "2030-01-01T00:07:00Z",
      want: ["2030-01-01T01:37:00Z", "2030-01-01T03:07:00Z"],
    },
    {
      name: "TZ= moves the hours to its time zone",
      schedule: "TZ=Asia/Kolkata 0 9 * * *",
      after: "2030-01-01T00:00:00Z",
      want: ["2030-01-01T03:30:00Z", "2030-01-02T03:30:00Z"],
    },
    {
      name: "the hour that spring leaves out does not come",
      schedule: "TZ=Europe/Berlin 30 2 * * *",
      after: "2030-03-30T00:00:00Z",
      want: ["2030-03-30T01:30:00Z", "2030-04-01T00:30:00Z"],
    },
    {
      name: "the hour that autumn repeats comes twice",
      schedule: "TZ=Europe/Berlin 30 2 * * *",
      after: "2030-10-26T12:00:00Z",
      want: ["2030-10-27T00:30:00Z", "2030-10-27T01:30:00Z", "2030-10-28T01:30:00Z"],
    },
    {
      name: "noon stays noon through both changes",
      schedule: "TZ=America/New_York 0 12 10 3,11 *",
      after: "2030-01-01T00:00:00Z",
      want: ["2030-03-10T16:00:00Z", "2030-11-10T17:00:00Z"],
    },
    {
      name: "a midnight that does not exist",
      schedule: "TZ=America/Sao_Paulo 0 0 * * *",
      after: "2018-11-02T12:00:00Z",
      want: ["2018-11-03T03:00:00Z", "2018-11-05T02:00:00Z"],
    },
  ];

describe("nextTimeMs: times of a schedule", () => {
  for (const { name, schedule, after, want } of rows) {
    test(name, () => assert.deepEqual(times(schedule, after, want.length), want));
  }
});
