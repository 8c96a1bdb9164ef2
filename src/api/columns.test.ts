import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { ageOf, formatLabels, humanDuration } from "./columns.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const durations: readonly [ms: number, text: string][] = [
  [-2 * SECOND, "<invalid>"],
  [-SECOND, "0s"],
  [119 * SECOND, "119s"],
  [2 * MINUTE, "2m"],
  [9 * MINUTE + 59 * SECOND, "9m59s"],
  [10 * MINUTE + 1, "10m"],
  [179 * MINUTE, "179m"],
  [3 * HOUR, "3h"],
  [7 * HOUR + 59 * MINUTE, "7h59m"],
  [47 * HOUR, "47h"],
  [2 * DAY, "2d"],
  [7 * DAY + 23 * HOUR, "7d23h"],
  [8 * DAY + HOUR, "8d"],
  [729 * DAY, "729d"],
  [730 * DAY, "2y"],
  [3 * 365 * DAY + 4 * DAY, "3y4d"],
  [8 * 365 * DAY + 4 * DAY, "8y"],
];

describe("Table columns: cells", () => {
  for (const [ms, text] of durations) {
    test(`humanDuration of ${ms} ms is ${text}`, () => assert.equal(humanDuration(ms), text));
  }

  test("ageOf is <unknown> without a creationTimestamp", () => {
    assert.equal(ageOf(undefined, 0), "<unknown>");
    assert.equal(ageOf("2030-01-01T00:00:00Z", Date.parse("2030-01-01T00:01:00Z")), "60s");
  });

  test("labels are sorted", () => {
    assert.equal(formatLabels({ b: "2", a: "1" }), "a=1,b=2");
    assert.equal(formatLabels(undefined), "<none>");
  });
});
