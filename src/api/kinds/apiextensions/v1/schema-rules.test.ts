/** What the schema of a definition may say. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { ExpressionCompiler } from "#api/expressions.ts";
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { runKind } from "#api/testing/run-kind.ts";
import { required } from "#api/validation/field-error.ts";
import { customResourceDefinitionKind as kind } from "./custom-resource-definition.ts";

const PREFIX = "spec.validation.openAPIV3Schema.";
const text = { type: "string" };
const object = (properties: Record<string, JSONSchemaProps>, more: JSONSchemaProps = {}) => ({
  type: "object",
  properties,
  ...more,
});
const definition = (openAPIV3Schema: JSONSchemaProps, more: object = {}) => ({
  metadata: { name: "things.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "things", kind: "Thing" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema }, ...more }],
  },
});
const faultsOf = (schema: JSONSchemaProps, more: object = {}) =>
  runKind(kind, { object: definition(schema, more) }).faults.map((fault) =>
    fault.replace(PREFIX, ""),
  );

describe("CustomResourceDefinition schemas", () => {
  const rows: readonly { name: string; schema: JSONSchemaProps; faults: readonly string[] }[] = [
    {
      name: "keywords that are not for them",
      schema: object({
        a: { ...text, id: "i", patternProperties: { x: text }, uniqueItems: true },
      }),
      faults: [
        "properties[a].id: Forbidden: id is not supported",
        "properties[a].patternProperties: Forbidden: patternProperties is not supported",
        "properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
      ],
    },
    {
      name: "unknown types",
      schema: object({ a: { type: "thing" }, b: { type: "null" } }),
      faults: [
        'properties[a].type: Unsupported value: "thing": supported values: "array", "boolean", "integer", "number", "object", "string"',
        'properties[b].type: Unsupported value: "null": supported values: "array", "boolean", "integer", "number", "object", "string"',
        "properties[b].type: Forbidden: type cannot be set to null, use nullable as an alternative",
      ],
    },
    {
      name: "known and other fields at once",
      schema: object({ a: object({ b: text }, { additionalProperties: false }) }),
      faults: [
        "properties[a].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
      ],
    },
    {
      name: "defaults that the schema itself refuses",
      schema: object({ a: { ...text, default: 1 } }),
      faults: [
        'properties[a].default: Invalid value: "integer":  in body must be of type string: "integer"',
      ],
    },
    {
      name: "defaults with unknown fields",
      schema: object({ a: object({ b: text }, { default: { c: 1 } }) }),
      faults: ['properties[a].default: Invalid value: {"c":1}: must not have unknown fields'],
    },
    {
      name: "defaults of metadata",
      schema: object({ kind: { ...text, default: "K" } }),
      faults: ["properties[kind].default: Forbidden: must not be set in top-level kind"],
    },
    {
      name: "map types of what is no map",
      schema: object({ a: { ...text, "x-kubernetes-map-type": "fluffy" } }),
      faults: [
        'properties[a].type: Invalid value: "string": must be object if x-kubernetes-map-type is specified',
        'properties[a].x-kubernetes-map-type: Unsupported value: "fluffy": supported values: "atomic", "granular"',
      ],
    },
    {
      name: "sets of what cannot be compared",
      schema: object({
        a: { type: "array", items: { type: "object" }, "x-kubernetes-list-type": "set" },
      }),
      faults: [
        "properties[a].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
      ],
    },
    {
      name: "maps without keys",
      schema: object({
        a: { type: "array", items: object({}), "x-kubernetes-list-type": "map" },
      }),
      faults: [
        "properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
      ],
    },
    {
      name: "keys that are no fields, or may be missing",
      schema: object({
        a: {
          type: "array",
          items: object({ k: text }),
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["k", "l"],
        },
      }),
      faults: [
        'properties[a].x-kubernetes-list-map-keys: Invalid value: ["k","l"]: entries must all be names of item properties',
        "properties[a].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
      ],
    },
    {
      name: "rules that say nothing",
      schema: object(
        { a: text },
        {
          "x-kubernetes-validations": [
            { rule: " " },
            { rule: "true", message: "a\nb" },
            { rule: "a\n&& b" },
            { rule: "true", reason: "Because", fieldPath: ".b" },
          ],
        },
      ),
      faults: [
        "x-kubernetes-validations[0].rule: Required value: rule is not specified",
        'x-kubernetes-validations[1].message: Invalid value: "a\\nb": must not contain line breaks',
        "x-kubernetes-validations[2].message: Required value: message must be specified if rule contains line breaks",
        'x-kubernetes-validations[3].reason: Unsupported value: "Because": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
        'x-kubernetes-validations[3].fieldPath: Invalid value: ".b": must be a valid path',
      ],
    },
    {
      name: "no structure",
      schema: object({ a: {} }),
      faults: ["properties[a].type: Required value: must not be empty for specified object fields"],
    },
  ];
  for (const { name, schema, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(faultsOf(schema), faults));
  }

  test("a root with a status subresource is simple", () => {
    const status = { subresources: { status: {} } };
    assert.deepEqual(faultsOf({ type: "object", maxLength: 1 }, status), []);
    const [fault] = faultsOf({ type: "object", maxProperties: 1 }, status);
    assert.match(fault!, /fields are allowed at the root of the schema if the status/);
  });
});

describe("CustomResourceDefinition: CEL rules of a schema go to the compiler", () => {
  const schema = object({ a: text }, { "x-kubernetes-validations": [{ rule: "self.a != ''" }] });
  const compilerThatSaw = (seen: unknown[]): ExpressionCompiler => ({
    admission: () => undefined,
    device: () => [],
    schema: (_, stored, path) => {
      seen.push(stored);
      return [required(path.child("x"), "")];
    },
  });

  test("an update hands over the rules that are stored already", () => {
    const seen: unknown[] = [];
    const context = { expressions: compilerThatSaw(seen) };
    const { faults } = runKind(kind, { object: definition(schema), context });
    runKind(kind, { object: definition(schema), old: definition(schema), context });
    assert.deepEqual(faults, [`${PREFIX}x: Required value`]);
    assert.deepEqual(seen, [
      { rules: new Set(), messageExpressions: new Set(), unchanged: false },
      { rules: new Set(["self.a != ''"]), messageExpressions: new Set(), unchanged: true },
    ]);
  });

  test("rules of a schema with other faults are not compiled", () => {
    const seen: unknown[] = [];
    const context = { expressions: compilerThatSaw(seen) };
    runKind(kind, { object: definition({ ...schema, nullable: true }), context });
    runKind(kind, { object: definition({ ...schema, properties: { a: {} } }), context });
    assert.equal(seen.length, 1);
  });
});
