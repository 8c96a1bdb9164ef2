import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { parseSchedule } from "./schedule.ts";
import { timeZoneFaults } from "./time-zone.ts";

describe("CronJob schedule: schedules", () => {
  test("steps, ranges, lists and names of the five fields are read", () => {
    const parsed = parseSchedule("*/20 9-17/4 1,15 jan-mar sun");
    assert.ok(parsed.ok && parsed.value.kind === "fields");
    const { minutes, hours, daysOfMonth, months, daysOfWeek } = parsed.value;
    assert.deepEqual([...minutes.values], [0, 20, 40]);
    assert.deepEqual([...hours.values], [9, 13, 17]);
    assert.deepEqual([...daysOfMonth.values], [1, 15]);
    assert.deepEqual([...months.values], [1, 2, 3]);
    assert.deepEqual([...daysOfWeek.values], [0]);
  });

  test("a star leaves the choice to the other field", () => {
    const parsed = parseSchedule("0 0 ? * */2");
    assert.ok(parsed.ok && parsed.value.kind === "fields");
    assert.equal(parsed.value.daysOfMonth.any, true);
    assert.equal(parsed.value.daysOfWeek.any, false);
  });

  test("descriptors (@every, @midnight, @daily) are read", () => {
    const every = parseSchedule("@every 90m");
    assert.ok(every.ok && every.value.kind === "every");
    assert.equal(every.value.everyNanos, 5_400_000_000_000n);
    assert.ok(parseSchedule("@midnight").ok);
    assert.ok(parseSchedule("CRON_TZ=Asia/Tokyo @daily").ok);
  });

  const faults = [
    { text: "", want: "empty spec string" },
    { text: "* * * *", want: "expected exactly 5 fields, found 4: [* * * *]" },
    { text: "@fortnightly", want: "unrecognized descriptor: @fortnightly" },
    { text: "1-2-3 * * * *", want: "too many hyphens: 1-2-3" },
    { text: "1/2/3 * * * *", want: "too many slashes: 1/2/3" },
    { text: "*/0 * * * *", want: "step of range should be a positive number: */0" },
    { text: "5-1 * * * *", want: "beginning of range (5) beyond end of range (1): 5-1" },
    {
      text: "* * * foo *",
      want: 'failed to parse int from foo: strconv.Atoi: parsing "foo": invalid syntax',
    },
    { text: "* * * 13 *", want: "end of range (13) above maximum (12): 13" },
    { text: "TZ=X/Y * * * * *", want: "provided bad location X/Y: unknown time zone X/Y" },
    {
      text: "TZ=0",
      want: "invalid schedule format: runtime error: slice bounds out of range [:-1]",
    },
  ];
  for (const { text, want } of faults) {
    test(`fault: ${text}`, () => {
      const parsed = parseSchedule(text);
      assert.equal(parsed.ok ? undefined : parsed.error, want);
    });
  }
});

describe("CronJob schedule: time zones", () => {
  const unknown = (name: string) => [`unknown time zone ${name}`];
  const explicit =
    "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
  const cases = [
    { name: "Europe/Berlin", want: [] },
    { name: "UTC", want: [] },
    { name: "Etc/GMT+5", want: [] },
    { name: "US/Pacific", want: [] },
    { name: "", want: ["timeZone must be nil or non-empty string"] },
    { name: "europe/berlin", want: unknown("europe/berlin") },
    { name: "EUROPE/BERLIN", want: unknown("EUROPE/BERLIN") },
    { name: "../etc", want: unknown("../etc") },
    { name: "Local", want: [explicit] },
    { name: "LOCAL", want: [explicit, "unknown time zone LOCAL"] },
    { name: "+01:00", want: unknown("+01:00") },
  ];
  for (const { name, want } of cases) {
    test(`time zone "${name}": ${want[0] ?? "known"}`, () =>
      assert.deepEqual(timeZoneFaults(name), want));
  }
});
