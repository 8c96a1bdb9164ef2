import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "vitest";
import {
  formatMicroTime,
  formatTime,
  isZeroTime,
  microTimeFromMs,
  parseMicroTime,
  parseTime,
  timeFromMs,
  timeToMs,
} from "./time.ts";

describe("Time (parseTime, formatTime)", () => {
  const rows: readonly (readonly [text: string, printed: string])[] = [
    ["2024-05-06T07:08:09Z", "2024-05-06T07:08:09Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"],
    ["2024-05-06T07:08:09.987Z", "2024-05-06T07:08:09Z"],
    ["2024-05-06T07:08:09,5Z", "2024-05-06T07:08:09Z"],
    ["2024-05-06T7:08:09Z", "2024-05-06T07:08:09Z"],
    ["2024-05-06T07:08:09+02:30", "2024-05-06T04:38:09Z"],
    ["2024-12-31T23:59:59-01:00", "2025-01-01T00:59:59Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"],
    ["0000-01-01T00:00:00+01:00", "-0001-12-31T23:00:00Z"],
    ["9999-12-31T23:00:00-02:00", "10000-01-01T01:00:00Z"],
    ["1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z"],
  ];
  for (const [text, printed] of rows) {
    test(text, () => {
      const parsed = parseTime(text);
      assert.ok(parsed.ok);
      assert.equal(formatTime(parsed.value), printed);
    });
  }

  const layout = '"2006-01-02T15:04:05Z07:00"';
  const faults: readonly (readonly [text: string, error: string])[] = [
    ["", `parsing time "" as ${layout}: cannot parse "" as "2006"`],
    ["x", `parsing time "x" as ${layout}: cannot parse "x" as "2006"`],
    [
      'a"\u00e9',
      `parsing time "a\\"\\xc3\\xa9" as ${layout}: cannot parse "a\\"\\xc3\\xa9" as "2006"`,
    ],
    ["2024", `parsing time "2024" as ${layout}: cannot parse "" as "-"`],
    ["2024-5-06", `parsing time "2024-5-06" as ${layout}: cannot parse "5-06" as "01"`],
    ["2024-13-06T00:00:00Z", 'parsing time "2024-13-06T00:00:00Z": month out of range'],
    [
      "2024-05-06 07:08:09Z",
      `parsing time "2024-05-06 07:08:09Z" as ${layout}: cannot parse " 07:08:09Z" as "T"`,
    ],
    ["2024-05-06T24:00:00Z", 'parsing time "2024-05-06T24:00:00Z": hour out of range'],
    ["2024-05-06T23:60:00Z", 'parsing time "2024-05-06T23:60:00Z": minute out of range'],
    ["2024-05-06T23:00:60Z", 'parsing time "2024-05-06T23:00:60Z": second out of range'],
    [
      "2024-05-06T23:00:00",
      `parsing time "2024-05-06T23:00:00" as ${layout}: cannot parse "" as "Z07:00"`,
    ],
    [
      "2024-05-06T23:00:00z",
      `parsing time "2024-05-06T23:00:00z" as ${layout}: cannot parse "z" as "Z07:00"`,
    ],
    [
      "2024-05-06T23:00:00+25:00",
      'parsing time "2024-05-06T23:00:00+25:00": time zone offset hour out of range',
    ],
    ["2024-05-06T23:00:00Zx", 'parsing time "2024-05-06T23:00:00Zx": extra text: "x"'],
    ["2023-02-29T00:00:00Z", 'parsing time "2023-02-29T00:00:00Z": day out of range'],
    ["2023-02-00T00:00:00Z", 'parsing time "2023-02-00T00:00:00Z": day out of range'],
  ];
  for (const [text, error] of faults) {
    test(`${JSON.stringify(text)} is refused`, () => {
      assert.deepEqual(parseTime(text), { ok: false, error });
    });
  }
  test("isZeroTime knows the zero time", () => {
    const parsed = parseTime("0001-01-01T00:00:00Z");
    assert.ok(parsed.ok && isZeroTime(parsed.value));
  });
});

describe("MicroTime", () => {
  test("a MicroTime keeps six decimals", () => {
    const parsed = parseMicroTime("2024-05-06T07:08:09.000123Z");
    assert.deepEqual(parsed, { ok: true, value: { seconds: 1714979289, nanos: 123_000 } });
    assert.ok(parsed.ok);
    assert.equal(formatMicroTime(parsed.value), "2024-05-06T07:08:09.000123Z");
  });
  const layout = '"2006-01-02T15:04:05.000000Z07:00"';
  for (const [rest, shown] of [
    ["", "Z"],
    [".123", ".123Z"],
    [".1234567", "7Z"],
  ] as const) {
    test(`${JSON.stringify(rest)} is refused`, () => {
      const text = `2024-05-06T07:08:09${rest}Z`;
      const element = rest.length > 7 ? "Z07:00" : ".000000";
      const error = `parsing time "${text}" as ${layout}: cannot parse "${shown}" as "${element}"`;
      assert.deepEqual(parseMicroTime(text), { ok: false, error });
    });
  }
});

test("timeFromMs, timeToMs: milliseconds to RFC 3339 and back", () => {
  assert.equal(timeFromMs(1714979289987), "2024-05-06T07:08:09Z");
  assert.equal(timeFromMs(-1), "1969-12-31T23:59:59Z");
  assert.equal(microTimeFromMs(1714979289987), "2024-05-06T07:08:09.987000Z");
  assert.equal(timeToMs("2024-05-06T07:08:09Z"), 1714979289000);
  assert.equal(formatTime({ seconds: 1e300, nanos: 0 }), "275760-09-13T00:00:00Z");
});

test("formatTime, parseTime: every second of four centuries survives the round trip", () => {
  fc.assert(
    fc.property(fc.integer({ min: -6e9, max: 6e9 }), fc.nat(999_999), (seconds, micros) => {
      const instant = { seconds, nanos: micros * 1000 };
      assert.deepEqual(parseMicroTime(formatMicroTime(instant)), { ok: true, value: instant });
      assert.deepEqual(parseTime(formatTime(instant)), { ok: true, value: { seconds, nanos: 0 } });
    }),
    { seed: 1 },
  );
});
