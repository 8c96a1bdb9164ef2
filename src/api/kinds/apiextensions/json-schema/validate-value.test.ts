import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { formatFieldError } from "#api/validation/format-field-error.ts";
import { Path } from "#api/validation/path.ts";
import { validateValue, validateValueSteps } from "./validate-value.ts";

interface Row {
  readonly name: string;
  readonly schema: JSONSchemaProps;
  readonly value: unknown;
  readonly faults: readonly string[];
}

function run(rows: readonly Row[]): void {
  for (const { name, schema, value, faults } of rows) {
    test(name, () =>
      assert.deepEqual(
        validateValue(value, schema, Path.of("spec")).map(
          (error) => `${error.field}: ${formatFieldError(error)}`,
        ),
        faults,
      ),
    );
  }
}

const text = { type: "string" };
const number = { type: "number" };
const integer = { type: "integer" };
const object = (properties: Record<string, JSONSchemaProps>, more: JSONSchemaProps = {}) => ({
  type: "object",
  properties,
  ...more,
});

describe("validateValue: type", () =>
  run([
    { name: "a string fits type string", schema: text, value: "a", faults: [] },
    {
      name: "an integer does not fit type string",
      schema: object({ a: text }),
      value: { a: 1 },
      faults: ['spec.a: Invalid value: "integer": a in body must be of type string: "integer"'],
    },
    { name: "a whole number fits type number", schema: number, value: 3, faults: [] },
    {
      name: "a fraction does not fit type integer",
      schema: object({ a: integer }),
      value: { a: 1.5 },
      faults: [
        'spec.a: Invalid value: "number": a in body must be of type integer: "number"',
        'spec: Invalid value: "": Checked value must be of type integer (default format) in a',
      ],
    },
    {
      name: "null does not fit type string",
      schema: object({ a: text }),
      value: { a: null },
      faults: ['spec.a: Invalid value: "null": a in body must be of type string: "null"'],
    },
    {
      name: "null fits a nullable type",
      schema: object({ a: { ...text, nullable: true } }),
      value: { a: null },
      faults: [],
    },
    {
      name: "a boolean does not fit x-kubernetes-int-or-string",
      schema: object({ a: { "x-kubernetes-int-or-string": true } }),
      value: { a: true },
      faults: [
        'spec.a: Invalid value: "boolean": a in body must be of type integer,string: "boolean"',
      ],
    },
  ]));

describe("validateValue: strings", () =>
  run([
    {
      name: "maxLength counts characters",
      schema: object({ a: { ...text, maxLength: 2 } }),
      value: { a: "äöü" },
      faults: ["spec.a: Too long: may not be more than 2 bytes"],
    },
    {
      name: "a string shorter than minLength is refused",
      schema: object({ a: { ...text, minLength: 2 } }),
      value: { a: "x" },
      faults: ['spec.a: Invalid value: "x": a in body should be at least 2 chars long'],
    },
    {
      name: "a string that does not match its pattern is refused",
      schema: object({ a: { ...text, pattern: "^x+$" } }),
      value: { a: "xy" },
      faults: ["spec.a: Invalid value: \"xy\": a in body should match '^x+$'"],
    },
    {
      name: "a string that is not of its format is refused",
      schema: object({ a: { ...text, format: "date" } }),
      value: { a: "2030-02-30" },
      faults: ['spec.a: Invalid value: "2030-02-30": a in body must be of type date: "2030-02-30"'],
    },
    {
      name: "a value that is not in the enum is refused",
      schema: object({ a: { ...text, enum: ["b", "c"] } }),
      value: { a: "d" },
      faults: ['spec.a: Unsupported value: "d": supported values: "b", "c"'],
    },
  ]));

describe("validateValue: numbers", () =>
  run([
    {
      name: "a number below its minimum is refused",
      schema: object({ a: { ...integer, minimum: 2 } }),
      value: { a: 1 },
      faults: ["spec.a: Invalid value: 1: a in body should be greater than or equal to 2"],
    },
    {
      name: "a number at its exclusiveMaximum is refused",
      schema: object({ a: { ...integer, maximum: 2, exclusiveMaximum: true } }),
      value: { a: 2 },
      faults: ["spec.a: Invalid value: 2: a in body should be less than 2"],
    },
    {
      name: "a number that is no multipleOf is refused",
      schema: object({ a: { ...integer, multipleOf: 3 } }),
      value: { a: 4 },
      faults: ["spec.a: Invalid value: 4: a in body should be a multiple of 3"],
    },
    {
      name: "a number that is a tiny part of its multipleOf is refused",
      schema: object({ a: { ...integer, multipleOf: 2 ** 31 } }),
      value: { a: 1 },
      faults: ["spec.a: Invalid value: 1: a in body should be a multiple of 2147483648"],
    },
    {
      name: "multipleOf 0 is refused",
      schema: object({ a: { ...integer, multipleOf: 0 } }),
      value: { a: 4 },
      faults: ["spec.a: Invalid value: 0: factor MultipleOf declared for a must be positive: 0"],
    },
    {
      name: "a number does not fit format date",
      schema: object({ a: { ...text, format: "date" } }),
      value: { a: 4 },
      faults: ['spec.a: Invalid value: "int64": a in body must be of type date: "int64"'],
    },
    {
      name: "multipleOf, within float precision",
      schema: object({ a: { ...number, multipleOf: 0.1 } }),
      value: { a: 0.3 },
      faults: [],
    },
    {
      name: "a number that is too large for its format is refused",
      schema: object({ a: { ...integer, format: "int32" } }),
      value: { a: 2 ** 31 },
      faults: [
        'spec: Invalid value: "": Checked value must be of type integer with format int32 in a',
      ],
    },
  ]));

describe("validateValue: arrays and objects", () =>
  run([
    {
      name: "a wrong item is named by its index",
      schema: object({ a: { type: "array", items: text } }),
      value: { a: ["x", 1] },
      faults: [
        'spec.a[1]: Invalid value: "integer": a[1] in body must be of type string: "integer"',
      ],
    },
    {
      name: "maxItems and minItems are checked",
      schema: object({
        a: { type: "array", items: text, maxItems: 1 },
        b: { type: "array", items: text, minItems: 1 },
      }),
      value: { a: ["x", "y"], b: [] },
      faults: [
        "spec.a: Too many: 2: must have at most 1 item",
        "spec.b: Invalid value: 0: b in body should have at least 1 items",
      ],
    },
    {
      name: "a missing required field is refused",
      schema: object({ a: object({}, { required: ["b"] }) }),
      value: { a: {} },
      faults: ["spec.a.b: Required value"],
    },
    {
      name: "a field is refused where additionalProperties is false",
      schema: { type: "object", additionalProperties: false },
      value: { b: 1 },
      faults: ['spec: Invalid value: "b": .b in body is a forbidden property'],
    },
    {
      name: "additionalProperties and maxProperties are checked for maps",
      schema: object({ a: { type: "object", additionalProperties: text, maxProperties: 1 } }),
      value: { a: { x: 1, y: "z" } },
      faults: [
        "spec.a: Too many: 2: must have at most 1 item",
        'spec.a.x: Invalid value: "integer": a.x in body must be of type string: "integer"',
      ],
    },
  ]));

describe("validateValue: anyOf, oneOf, allOf, not", () => {
  const short = { maxLength: 1 };
  const x = { pattern: "^x" };
  run([
    {
      name: "anyOf: one schema that fits is enough",
      schema: { ...text, anyOf: [short, x] },
      value: "xyz",
      faults: [],
    },
    {
      name: "anyOf: a value that fits no schema is refused",
      schema: object({ a: { ...text, anyOf: [{ maxLength: 1 }, { pattern: "^x" }] } }),
      value: { a: "yz" },
      faults: [
        'spec: Invalid value: "": "a" must validate at least one schema (anyOf)',
        "spec.a: Too long: may not be more than 1 byte",
      ],
    },
    {
      name: "oneOf: a value that fits two schemas is refused",
      schema: object({ a: { ...text, oneOf: [short, x] } }),
      value: { a: "x" },
      faults: [
        'spec: Invalid value: "": "a" must validate one and only one schema (oneOf). Found 2 valid alternatives',
      ],
    },
    {
      name: "allOf: a value that does not fit one schema is refused",
      schema: object({ a: { ...text, allOf: [short, x] } }),
      value: { a: "y" },
      faults: [
        "spec.a: Invalid value: \"y\": a in body should match '^x'",
        'spec: Invalid value: "": "a" must validate all the schemas (allOf)',
      ],
    },
    {
      name: "not: a value that fits the schema is refused",
      schema: object({ a: { ...text, not: x } }),
      value: { a: "x" },
      faults: ['spec: Invalid value: "": "a" must not validate the schema (not)'],
    },
  ]);
});

test("validateValue: a list of 100,000 wrong items is checked in steps, and not all faults are listed", () => {
  const schema = { type: "array", items: { type: "string", pattern: "^z" } };
  const value = Array.from({ length: 100_000 }, (_, i) => `x${i}`);
  const steps = validateValueSteps(value, schema, undefined);
  let count = 0;
  let next = steps.next();
  for (; next.done !== true; next = steps.next()) count += 1;
  assert.ok(count > 300, `${count} steps`);
  assert.equal(next.value.length, 1_001);
  assert.equal(next.value[1]!.field, "[1]");
});
