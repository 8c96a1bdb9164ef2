import assert from "node:assert/strict";
import { test } from "vitest";
import { formatRows, isMissed, ratioOf } from "./table.ts";

test("isMissed: a rate misses its target from below, a time from above", () => {
  const rate = { name: "r", value: 50, unit: "writes/s", limit: 100, target: 0.8 };
  const time = { name: "t", value: 50, unit: "ms", limit: 100, target: 0.8 };
  assert.deepEqual([ratioOf(rate), isMissed(rate), isMissed(time)], [0.5, true, false]);
  assert.ok(isMissed({ ...time, value: 90 }));
  assert.ok(!isMissed({ name: "x", value: 1, unit: "ms" }));
});

test("formatRows: the columns of rows line up", () => {
  const text = formatRows([
    { name: "writes", value: 12_345.6, unit: "/s", limit: 20_000, limitName: "bare", target: 0.8 },
    { name: "start", value: 0.25, unit: "s" },
  ]);
  assert.equal(
    text,
    "  writes  12,346 /s  20,000 bare  0.617×  ≥ 0.8  MISSED\n  start   0.250 s\n",
  );
});
