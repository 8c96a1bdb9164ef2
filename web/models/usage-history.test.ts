import assert from "node:assert/strict";
import { test } from "vitest";
import { coresText } from "./usage-history.ts";

const cases: readonly (readonly [number, string])[] = [
  [0, "0m"],
  [0.0004, "0.4m"],
  [0.001, "1m"],
  [0.0123, "12m"],
  [0.5, "500m"],
  [1.256, "1.26"],
];

for (const [cores, text] of cases) {
  test(`coresText of ${cores} cores is ${text}`, () => {
    assert.equal(coresText(cores), text);
  });
}
