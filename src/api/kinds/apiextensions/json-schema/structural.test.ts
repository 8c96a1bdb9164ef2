import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { formatFieldError } from "#api/validation/format-field-error.ts";
import { Path } from "#api/validation/path.ts";
import { structuralFault, validateStructural } from "./structural.ts";

const root = (properties: Record<string, JSONSchemaProps>, more: JSONSchemaProps = {}) => ({
  type: "object",
  properties,
  ...more,
});
const text = { type: "string" };

describe("structuralFault of a schema", () => {
  const rows = [
    { name: "a plain schema has no fault", schema: root({ a: text }), fault: undefined },
    {
      name: "patternProperties is refused",
      schema: { patternProperties: { x: text } },
      fault: "OpenAPIV3Schema 'patternProperties' is not supported",
    },
    {
      name: "references, deep inside",
      schema: root({ a: { type: "array", items: { $ref: "x" } } }),
      fault: "OpenAPIV3Schema '$ref' is not supported",
    },
    {
      name: "items as an array is refused",
      schema: { items: [text, text] },
      fault: "OpenAPIV3Schema 'items' must be a schema, but is an array",
    },
  ];
  for (const { name, schema, fault } of rows) {
    test(name, () => assert.equal(structuralFault(schema), fault));
  }
});

describe("structural schemas", () => {
  const rows: readonly { name: string; schema: JSONSchemaProps; faults: readonly string[] }[] = [
    { name: "a plain schema is accepted", schema: root({ a: text }), faults: [] },
    {
      name: "fields and items without a type are refused",
      schema: { properties: { a: {}, b: { type: "array" }, c: { type: "array", items: {} } } },
      faults: [
        "s.properties[a].type: Required value: must not be empty for specified object fields",
        "s.properties[b].items: Required value: must be specified",
        "s.properties[c].items.type: Required value: must not be empty for specified array items",
        "s.type: Required value: must not be empty at the root",
      ],
    },
    {
      name: "another type at the root",
      schema: { type: "array", items: text },
      faults: ['s.type: Invalid value: "array": must be object at the root'],
    },
    {
      name: "no type where none is needed",
      schema: root({
        a: { "x-kubernetes-int-or-string": true },
        b: { "x-kubernetes-preserve-unknown-fields": true },
      }),
      faults: [],
    },
    {
      name: "anything at the root",
      schema: { type: "object", additionalProperties: text },
      faults: ["s.additionalProperties: Forbidden: must not be used at the root"],
    },
    {
      name: "a number or text that is a resource",
      schema: root({
        a: { "x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true },
      }),
      faults: [
        "s.properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true",
      ],
    },
    {
      name: "resources of odd shape",
      schema: root({
        kind: { type: "integer" },
        metadata: { type: "object", properties: { name: text, labels: { type: "object" } } },
        a: { type: "object", "x-kubernetes-embedded-resource": true },
      }),
      faults: [
        "s.properties[a].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
        's.properties[kind].type: Invalid value: "integer": must be string',
        "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
      ],
    },
    {
      name: "more than restrictions in logical parts",
      schema: root(
        { a: text },
        {
          anyOf: [
            {
              description: "d",
              properties: {
                a: { type: "string", nullable: true, "x-kubernetes-list-type": "set" },
              },
            },
          ],
        },
      ),
      faults: [
        "s.anyOf[0].description: Forbidden: must be empty to be structural",
        "s.anyOf[0].properties[a].nullable: Forbidden: must be false to be structural",
        "s.anyOf[0].properties[a].type: Forbidden: must be empty to be structural",
        "s.anyOf[0].properties[a].x-kubernetes-list-type: Forbidden: must be undefined to be structural",
      ],
    },
    {
      name: "fields that only logical parts know",
      schema: root({}, { not: { properties: { b: { items: { pattern: "x" } } } } }),
      faults: ["s.properties[b]: Required value: because it is defined in s.not.properties[b]"],
    },
    {
      name: "the one combination of types that may be",
      schema: root({
        a: {
          "x-kubernetes-int-or-string": true,
          anyOf: [{ type: "integer" }, { type: "string" }],
        },
        b: {
          "x-kubernetes-int-or-string": true,
          allOf: [{ anyOf: [{ type: "integer" }, { type: "string" }] }, { pattern: "x" }],
        },
      }),
      faults: [],
    },
    {
      name: "a pattern that is none",
      schema: root({ a: { type: "string", pattern: "(" } }),
      faults: [
        's.properties[a].pattern: Invalid value: "(": must be a valid regular expression, but isn\'t: error parsing regexp: missing closing ): `(`',
      ],
    },
  ];
  for (const { name, schema, faults } of rows) {
    test(name, () =>
      assert.deepEqual(
        validateStructural(schema, Path.of("s")).map(
          (error) => `${error.field}: ${formatFieldError(error)}`,
        ),
        faults,
      ),
    );
  }
});
