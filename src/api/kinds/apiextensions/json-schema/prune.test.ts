import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { prune } from "./prune.ts";

const text = { type: "string" };
const withA = { type: "object", properties: { a: text } };

describe("CustomResourceDefinition schema: pruning", () => {
  const rows: readonly {
    name: string;
    schema: JSONSchemaProps;
    value: unknown;
    kept: unknown;
    isResource?: boolean;
  }[] = [
    { name: "what is not known goes", schema: withA, value: { a: "1", b: 2 }, kept: { a: "1" } },
    {
      name: "unknown fields of list items are pruned",
      schema: { type: "array", items: withA },
      value: [{ a: "1" }, { b: 2 }],
      kept: [{ a: "1" }, {}],
    },
    {
      name: "maps keep their keys",
      schema: { type: "object", additionalProperties: withA },
      value: { x: { a: "1", b: 2 } },
      kept: { x: { a: "1" } },
    },
    {
      name: "unless asked to keep it, but not below what is known",
      schema: { ...withA, properties: { a: withA }, "x-kubernetes-preserve-unknown-fields": true },
      value: { a: { a: "1", b: 2 }, c: { d: 3 } },
      kept: { a: { a: "1" }, c: { d: 3 } },
    },
    {
      name: "a resource has its own fields",
      schema: withA,
      value: { apiVersion: "v", kind: "K", metadata: { name: "n" }, b: 1 },
      kept: { apiVersion: "v", kind: "K", metadata: { name: "n" } },
      isResource: true,
    },
    {
      name: "an x-kubernetes-embedded-resource keeps its kind; its other fields are pruned",
      schema: {
        type: "object",
        properties: { a: { type: "object", "x-kubernetes-embedded-resource": true } },
      },
      value: { a: { kind: "K", spec: {} }, kind: "K" },
      kept: { a: { kind: "K" } },
    },
    { name: "values that are no containers", schema: withA, value: "x", kept: "x" },
  ];
  for (const { name, schema, value, kept, isResource = false } of rows) {
    test(name, () => assert.deepEqual(prune(value, schema, { isResource }), kept));
  }
});
