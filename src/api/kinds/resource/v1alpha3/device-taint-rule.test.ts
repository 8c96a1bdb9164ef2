import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { KubeObject } from "#api/kind.ts";
import { cellsOf, runKind } from "#api/testing/run-kind.ts";
import { deviceTaintRuleV1alpha3Kind as taintRule } from "./device-taint-rule.ts";

describe("taint rules", () => {
  const rule = (effect: string, timeAdded?: string) => ({
    spec: { taint: { key: "k", effect, ...(timeAdded === undefined ? {} : { timeAdded }) } },
  });

  test("a taint has a key and an effect", () => {
    assert.deepEqual(runKind(taintRule, { object: { spec: { taint: {} } } }).faults, [
      'spec.taint.key: Invalid value: "": name part must be non-empty',
      "spec.taint.key: Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      "spec.taint.effect: Required value",
    ]);
  });

  const EARLIER = "2029-01-01T00:00:00Z";
  const NOW = "2030-01-01T00:00:00Z";
  const times = [
    { name: "a new one starts now", write: { object: rule("None") }, time: NOW },
    {
      name: "a new effect starts now",
      write: { object: rule("NoExecute", EARLIER), old: rule("None", EARLIER) },
      time: NOW,
    },
    {
      name: "the same effect goes on",
      write: { object: rule("None", EARLIER), old: rule("None", EARLIER) },
      time: EARLIER,
    },
  ];
  for (const { name, write, time } of times) {
    test(name, () => {
      const { object } = runKind(taintRule, { ...write, nowMs: Date.UTC(2030, 0, 1) });
      const { spec } = object as KubeObject & { spec: { taint: { timeAdded: string } } };
      assert.equal(spec.taint.timeAdded, time);
    });
  }

  test("the columns show key, value, effect and age", () => {
    const outcome = runKind(taintRule, { object: rule("None", EARLIER) });
    const nowMs = Date.UTC(2029, 0, 3);
    assert.deepEqual(cellsOf(taintRule, outcome, nowMs).slice(1, 5), ["k", "", "None", "2d"]);
  });
});
