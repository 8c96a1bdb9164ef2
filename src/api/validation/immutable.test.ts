import assert from "node:assert/strict";
import { test } from "vitest";
import { semanticEqual } from "./immutable.ts";

const rows: readonly [name: string, a: unknown, b: unknown, equal: boolean][] = [
  ["scalars", 1, 1, true],
  ["different scalars", "a", "b", false],
  ["an absent and an empty list", { a: [] }, {}, true],
  ["an absent and an empty struct", { a: {} }, {}, false],
  ["an absent and a false field", { a: false }, {}, false],
  ["null counts as absent", { a: null }, {}, true],
  [
    "amounts in two notations",
    { limits: { memory: "1Gi" } },
    { limits: { memory: "1073741824" } },
    true,
  ],
  ["texts that only look like amounts", { value: "1Gi" }, { value: "1073741824" }, false],
  ["the order of keys", { a: 1, b: 2 }, { b: 2, a: 1 }, true],
  ["the order of items", [1, 2], [2, 1], false],
  ["a list and a scalar", [1], 1, false],
  ["a key that objects inherit: constructor", { constructor: "x" }, {}, false],
  ["a key that objects inherit: toString", { a: "x", toString: "x" }, { a: "x" }, false],
];

for (const [name, a, b, equal] of rows) {
  test(`validation: semantic equality: ${name}`, () => {
    assert.equal(semanticEqual(a, b), equal);
    assert.equal(semanticEqual(b, a), equal);
  });
}
