import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "vitest";
import { jsonEqual } from "#api/patch/json-value.ts";
import { formatDifferences, structuralDiff } from "./structural-diff.ts";

test("formatDifferences: each place that differs", () => {
  const before = { a: 1, b: { c: [1, { d: 2 }], "x/y": 1 }, e: null, same: [{}] };
  const after = { b: { c: [1, { d: 3 }, 4], "x/y": 2 }, a: 1, e: {}, same: [{}], n: 9n };
  assert.equal(
    formatDifferences(structuralDiff(before, after)),
    ["b.c[1].d: 2 → 3", "+ b.c[2]: 4", 'b["x/y"]: 1 → 2', "e: null → {}", "+ n: 9"].join("\n"),
  );
  assert.equal(formatDifferences(structuralDiff({ a: 1 }, {})), "- a: 1");
  assert.deepEqual(structuralDiff(1, 2), [{ path: "", before: 1, after: 2 }]);
});

test("formatDifferences: no difference exactly for equal values", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), fc.jsonValue({ maxDepth: 3 }), (a, b) => {
      assert.equal(structuralDiff(a, b).length === 0, jsonEqual(a, b));
      assert.deepEqual(structuralDiff(a, structuredClone(a)), []);
    }),
    { seed: 1 },
  );
});
