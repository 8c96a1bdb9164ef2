import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "vitest";
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { finish } from "#lib/async/steps.ts";
import { applyDefaults, dropNullSteps } from "./apply-defaults.ts";
import { isNormalized } from "./is-normalized.ts";
import { prune } from "./prune.ts";

const WIDGET: JSONSchemaProps = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        size: { type: "integer", default: 3 },
        note: { type: "string", nullable: true },
        list: { type: "array", items: { type: "object", properties: { a: { type: "string" } } } },
        map: { type: "object", additionalProperties: { type: "string" } },
        free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      },
    },
  },
};

const head = { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "a", other: 1 } };

test.each([
  ["all fields known, defaults there", { size: 1, list: [{ a: "x" }], map: { k: "v" } }, true],
  ["a nullable field is null", { size: 1, note: null }, true],
  ["free JSON below preserve-unknown-fields", { size: 1, free: { any: [{ thing: null }] } }, true],
  ["a default is missing", {}, false],
  ["an unknown field", { size: 1, other: 1 }, false],
  ["an unknown field in a list", { size: 1, list: [{ a: "x" }, { b: 1 }] }, false],
  ["a null that is not allowed", { size: null }, false],
])("isNormalized: %s", (_, spec, want) => {
  assert.equal(isNormalized({ ...head, spec }, WIDGET, true), want);
});

const names = fc.constantFrom("a", "b", "c");
const scalars: JSONSchemaProps[] = [
  { type: "string" },
  { type: "string", nullable: true },
  { type: "integer", default: 7 },
  { type: "object", "x-kubernetes-preserve-unknown-fields": true },
];
const { schema } = fc.letrec<{ schema: JSONSchemaProps }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(...scalars),
    fc.record({
      type: fc.constant("object"),
      properties: fc.dictionary(names, tie("schema"), { maxKeys: 3 }),
    }),
    fc.record({
      type: fc.constant("object"),
      additionalProperties: fc.oneof(fc.boolean(), tie("schema")),
    }),
    fc.record({ type: fc.constant("array"), items: tie("schema") }),
    fc.record({
      type: fc.constant("object"),
      "x-kubernetes-preserve-unknown-fields": fc.boolean(),
      properties: fc.dictionary(names, tie("schema"), { maxKeys: 2 }),
    }),
  ),
}));
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, "x", 5),
    fc.array(tie("value"), { maxLength: 2 }),
    fc.dictionary(names, tie("value"), { maxKeys: 3, noNullPrototype: true }),
  ),
}));

test("isNormalized is true only for values that pruning and defaulting leave as they are", () => {
  fc.assert(
    fc.property(schema, value, (given, object) => {
      if (!isNormalized(object, given)) return;
      const copy = structuredClone(prune(object, given));
      finish(dropNullSteps(copy, given));
      applyDefaults(copy, given);
      assert.deepEqual(copy, object);
    }),
    { numRuns: 2_000 },
  );
});

test("isNormalized: what pruning and defaulting have made is normalized", () => {
  let normalized = 0;
  const runs = 2_000;
  fc.assert(
    fc.property(schema, value, (given, object) => {
      const copy = structuredClone(prune(object, given));
      finish(dropNullSteps(copy, given));
      applyDefaults(copy, given);
      if (isNormalized(copy, given)) normalized += 1;
    }),
    { numRuns: runs },
  );
  assert.ok(normalized > runs / 2, `${normalized} of ${runs}`);
});
