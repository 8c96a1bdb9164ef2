import assert from "node:assert/strict";
import { test } from "vitest";
import { semanticEqual } from "./immutable.ts";

const rows: readonly [name: string, a: unknown, b: unknown, equal: boolean][] = [
  ["equal scalars are equal", 1, 1, true],
  ["different scalars differ", "a", "b", false],
  ["an absent and an empty list are equal", { a: [] }, {}, true],
  ["an absent and an empty struct differ", { a: {} }, {}, false],
  ["an absent and a false field differ", { a: false }, {}, false],
  ["null counts as absent", { a: null }, {}, true],
  [
    "quantities in two notations are equal",
    { limits: { memory: "1Gi" } },
    { limits: { memory: "1073741824" } },
    true,
  ],
  ["texts that only look like quantities differ", { value: "1Gi" }, { value: "1073741824" }, false],
  ["the order of keys does not matter", { a: 1, b: 2 }, { b: 2, a: 1 }, true],
  ["the order of items matters", [1, 2], [2, 1], false],
  ["a list and a scalar differ", [1], 1, false],
  ["a key that objects inherit is compared: constructor", { constructor: "x" }, {}, false],
  [
    "a key that objects inherit is compared: toString",
    { a: "x", toString: "x" },
    { a: "x" },
    false,
  ],
];

for (const [name, a, b, equal] of rows) {
  test(`semanticEqual: ${name}`, () => {
    assert.equal(semanticEqual(a, b), equal);
    assert.equal(semanticEqual(b, a), equal);
  });
}
