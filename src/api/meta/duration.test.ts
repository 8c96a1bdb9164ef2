import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "vitest";
import { formatDuration, humanDuration, parseDuration } from "./duration.ts";

describe("Duration: Go's notation", () => {
  const rows: readonly (readonly [text: string, printed: string])[] = [
    ["0", "0s"],
    ["-0", "0s"],
    ["1h", "1h0m0s"],
    ["90m", "1h30m0s"],
    ["1.5s", "1.5s"],
    [".5s", "500ms"],
    ["1.s", "1s"],
    ["100us", "100\u00b5s"],
    ["1\u03bcs", "1\u00b5s"],
    ["1500ns", "1.5\u00b5s"],
    ["-1h2m3.004s", "-1h2m3.004s"],
    ["1s1s", "2s"],
    ["0.3333333333333333333h", "20m0s"],
    ["9223372036854775807ns", "2562047h47m16.854775807s"],
    ["-9223372036854775808ns", "-2562047h47m16.854775808s"],
  ];
  for (const [text, printed] of rows) {
    test(`${text} is ${printed}`, () => {
      const parsed = parseDuration(text);
      assert.ok(parsed.ok);
      assert.equal(formatDuration(parsed.nanos), printed);
    });
  }
  const faults: readonly (readonly [text: string, error: string])[] = [
    ["", 'time: invalid duration ""'],
    ["-", 'time: invalid duration "-"'],
    [".", 'time: invalid duration "."'],
    [".s", 'time: invalid duration ".s"'],
    ["h", 'time: invalid duration "h"'],
    ["1", 'time: missing unit in duration "1"'],
    ["1h30", 'time: missing unit in duration "1h30"'],
    ["1.2.3s", 'time: missing unit in duration "1.2.3s"'],
    ["1d", 'time: unknown unit "d" in duration "1d"'],
    ["1 s", 'time: unknown unit " s" in duration "1 s"'],
    ["9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'],
    ["99999999999999999999s", 'time: invalid duration "99999999999999999999s"'],
    ["3000000h", 'time: invalid duration "3000000h"'],
  ];
  for (const [text, error] of faults) {
    test(`${JSON.stringify(text)} is refused`, () => {
      assert.deepEqual(parseDuration(text), { ok: false, error });
    });
  }
  test("what is printed reads back as the same", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (nanos) => {
        assert.deepEqual(parseDuration(formatDuration(nanos)), { ok: true, nanos });
      }),
      { seed: 1 },
    );
  });
});

describe("Duration: for people", () => {
  const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000];
  const rows: readonly (readonly [ms: number, text: string])[] = [
    [-2 * second, "<invalid>"],
    [-1999, "0s"],
    [0, "0s"],
    [70 * second, "70s"],
    [2 * minute, "2m"],
    [190 * second, "3m10s"],
    [10 * minute - 1, "9m59s"],
    [179 * minute, "179m"],
    [3 * hour + minute, "3h1m"],
    [8 * hour + 59 * minute, "8h"],
    [47 * hour, "47h"],
    [2 * day + hour, "2d1h"],
    [8 * day - 1, "7d23h"],
    [729 * day, "729d"],
    [731 * day, "2y1d"],
    [8 * 365 * day + 364 * day, "8y"],
  ];
  for (const [ms, text] of rows) {
    test(`${ms} ms is ${text}`, () => assert.equal(humanDuration(ms), text));
  }
});
