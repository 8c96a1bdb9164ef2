import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "vitest";
import type { JsonObject } from "./json-value.ts";
import { applyMergePatch } from "./merge-patch.ts";

describe("applyMergePatch", () => {
  const rows: readonly (readonly [document: JsonObject, patch: JsonObject, merged: JsonObject])[] =
    [
      [{ a: "b" }, { a: "c" }, { a: "c" }],
      [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
      [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
      [{ a: ["b"] }, { a: "c" }, { a: "c" }],
      [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
      [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
      [
        { a: "x" },
        { a: { b: null, c: [{ d: null, e: 1 }, null] } },
        { a: { c: [{ e: 1 }, null] } },
      ],
      [{ a: null }, { a: { b: null } }, { a: {} }],
      [{ a: [1] }, { a: [{ b: null }] }, { a: [{}] }],
      [{ a: { b: 1 } }, { a: [{ b: null }] }, { a: [{ b: null }] }],
    ];
  for (const [document, patch, merged] of rows) {
    test(`${JSON.stringify(document)} with ${JSON.stringify(patch)}`, () => {
      assert.deepEqual(applyMergePatch(Object.freeze(document), patch), {
        ok: true,
        value: merged,
      });
    });
  }
});

describe("what is no merge patch", () => {
  const type = "into Go value of type map[string]interface {}";
  const rows: readonly (readonly [patch: unknown, message: string])[] = [
    [null, "Invalid JSON Patch"],
    [[], `error decoding patch: json: cannot unmarshal array ${type}`],
    [1, `error decoding patch: json: cannot unmarshal number ${type}`],
    ["", `error decoding patch: json: cannot unmarshal string ${type}`],
    [true, `error decoding patch: json: cannot unmarshal bool ${type}`],
  ];
  for (const [patch, message] of rows) {
    test(message, () => {
      const result = applyMergePatch({}, patch);
      assert.deepEqual(result.ok ? {} : [result.status.code, result.status.message], [
        400,
        message,
      ]);
    });
  }
});

test("any patch settles after the second time, and nothing given is changed", () => {
  const json = fc.dictionary(fc.constantFrom("a", "b", "__proto__"), fc.jsonValue({ maxDepth: 3 }));
  fc.assert(
    fc.property(json, json, (document, patch) => {
      const given = JSON.stringify([document, patch]);
      const once = applyMergePatch(document, patch);
      assert.ok(once.ok);
      const twice = applyMergePatch(once.value, patch);
      assert.ok(twice.ok);
      const thrice = applyMergePatch(twice.value, patch);
      assert.ok(thrice.ok);
      assert.equal(JSON.stringify(thrice.value), JSON.stringify(twice.value));
      assert.equal(JSON.stringify([document, patch]), given);
    }),
    { seed: 1, numRuns: 500 },
  );
});
