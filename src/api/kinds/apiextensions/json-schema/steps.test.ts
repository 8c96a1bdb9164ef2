import assert from "node:assert/strict";
import { test } from "vitest";
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { finish, type Steps } from "#lib/async/steps.ts";
import { applyDefaults, defaultSteps, dropNullSteps } from "./apply-defaults.ts";
import { pruneSteps } from "./prune.ts";

const SCHEMA: JSONSchemaProps = {
  type: "object",
  properties: {
    list: {
      type: "array",
      items: { type: "object", properties: { a: { type: "integer", default: 1 } } },
    },
  },
};
const large = (): { list: object[] } => ({ list: Array.from({ length: 5_000 }, () => ({ x: 1 })) });

function count<T>(steps: Steps<T>): { readonly pauses: number; readonly value: T } {
  for (let pauses = 0; ; pauses++) {
    const { done, value } = steps.next();
    if (done === true) return { pauses, value };
  }
}

test("pruning a custom resource of many items pauses, and prunes all of them", () => {
  const unknown: string[] = [];
  const { pauses, value } = count(pruneSteps(large(), SCHEMA, { unknown }));
  assert.ok(pauses >= 4, `${pauses} pauses`);
  assert.deepEqual(value, { list: large().list.map(() => ({})) });
  assert.equal(unknown.length, 100);
});

test("defaults and nulls of a custom resource of many items are set with pauses", () => {
  const object = large();
  assert.ok(count(defaultSteps(object, SCHEMA)).pauses >= 4);
  assert.ok(object.list.every((item) => "a" in item));
  assert.ok(count(dropNullSteps(object, SCHEMA)).pauses >= 4);
});

test("custom resource: a null item of a list stays unless its schema has a default", () => {
  const lists = { a: [null, 1], b: [null] };
  const items = (inner: JSONSchemaProps): JSONSchemaProps => ({ type: "array", items: inner });
  const schema: JSONSchemaProps = {
    properties: { a: items({ type: "integer" }), b: items({ type: "integer", default: 7 }) },
  };
  finish(dropNullSteps(lists, schema));
  applyDefaults(lists, schema);
  assert.deepEqual(lists, { a: [null, 1], b: [7] });
});

test("custom resource: a default is set without unknown fields in the metadata of an embedded resource", () => {
  const value = { apiVersion: "v1", kind: "Pod", metadata: { name: "x", bad: 1 } };
  const pod: JSONSchemaProps = {
    type: "object",
    "x-kubernetes-embedded-resource": true,
    "x-kubernetes-preserve-unknown-fields": true,
    default: value as never,
  };
  const object: Record<string, unknown> = {};
  applyDefaults(object, { type: "object", properties: { pod } });
  assert.deepEqual(object, { pod: { ...value, metadata: { name: "x" } } });
});
