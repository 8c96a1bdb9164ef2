/** What holds for every built-in kind, whatever it is. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { normalize } from "#api/codec/json.ts";
import { type Random, seededRandom } from "#lib/random.ts";
import type { Draft, Kind, KubeObject, RuleContext } from "./kind.ts";
import { builtInKinds, findByKind, findByPlural } from "./kinds.ts";
import { findSchema, schemaOf } from "./schema/from-facts.ts";
import type { Schema, StructSchema } from "./schema/schema.ts";
import type { FieldError } from "./validation/field-error.ts";
import { formatFieldError } from "./validation/format-field-error.ts";

const OBJECTS_PER_KIND = 25;
const DEPTH_MAX = 7;
const CONTEXT: RuleContext = { nowMs: 0, requestName: "x", warn: () => {} };

/** Texts that mean something to one rule or another. */
const TEXTS = [
  "",
  "a",
  "x",
  "A_b",
  "..",
  "a/b",
  "/etc",
  "a.example/b",
  "None",
  "10.0.0.1",
  "fd00::1",
  "10.0.0.0/8",
  "In",
  "Exists",
  "ClusterIP",
  "LoadBalancer",
  "ExternalName",
  "Local",
  "é\u0000",
  "a".repeat(300),
];

describe("the registry", () => {
  test("knows each kind by its plural and its name", () => {
    for (const kind of builtInKinds) {
      const { group, version, names } = kind;
      assert.equal(findByPlural(group, version, names.plural), kind, names.plural);
      assert.equal(findByKind(group, version, names.kind), kind, names.kind);
    }
  });

  test("every kind has a type, and every stored version a kind", () => {
    for (const { type, storedAs, names } of builtInKinds) {
      assert.notEqual(findSchema(type), undefined, type);
      if (storedAs === undefined) continue;
      const { group, version } = storedAs;
      assert.notEqual(findByPlural(group, version, names.plural), undefined, names.plural);
    }
  });

  test("columns have names of their own", () => {
    for (const { names, columns } of builtInKinds) {
      const shown = columns.map(({ name }) => name);
      assert.equal(new Set(shown).size, shown.length, names.plural);
    }
  });
});

describe("rules of random objects neither throw nor touch what is stored", () => {
  for (const kind of builtInKinds) {
    test(`${kind.apiVersion} ${kind.names.kind}`, () => {
      const random = seededRandom(7);
      for (let i = 0; i < OBJECTS_PER_KIND; i++) {
        const old = freeze(randomObject(kind, random));
        runCreate(kind, randomObject(kind, random));
        runUpdates(kind, randomObject(kind, random), old);
        runUpdates(kind, structuredClone(old) as Draft<KubeObject>, old);
      }
    });
  }
});

function runCreate(kind: Kind, draft: Draft<KubeObject>): void {
  kind.prepareCreate?.(draft, CONTEXT);
  format(kind.validate?.(draft, CONTEXT));
  kind.warnings?.(draft, undefined);
  kind.canonicalize?.(draft);
  const object = normal(kind, draft);
  for (const column of kind.columns) column.cell(object, 0);
  kind.selectableFields?.(object);
  kind.rowConditions?.(object);
  if (kind.storedAs !== undefined) kind.storedAs.fromStored(kind.storedAs.toStored(object));
}

function runUpdates(kind: Kind, next: Draft<KubeObject>, old: KubeObject): void {
  for (const rules of [kind, ...Object.values(kind.subresources ?? {})]) {
    const draft = structuredClone(next);
    rules.prepareUpdate?.(draft, old, CONTEXT);
    format(rules.validateUpdate?.(draft, old, CONTEXT));
    rules.warnings?.(draft, old);
  }
}

function format(errors: readonly FieldError[] = []): void {
  for (const error of errors) formatFieldError(error);
}

function randomObject(kind: Kind, random: Random): Draft<KubeObject> {
  const object = normal(kind, randomStruct(schemaOf(kind.type), random, 0)) as Draft<KubeObject>;
  kind.defaults?.(object);
  return object;
}

function normal(kind: Kind, value: object): KubeObject {
  const decoded = normalize(schemaOf(kind.type), value);
  assert.ok(decoded.ok, decoded.ok ? "" : decoded.error);
  return decoded.value as unknown as KubeObject;
}

function randomStruct(schema: StructSchema, random: Random, depth: number): object {
  // The deeper, the sparser: objects stay small and still reach every field now and then.
  const given = schema.fields.filter(() => random.next() < (depth < 2 ? 0.8 : 0.4));
  return Object.fromEntries(
    given.map(({ name, schema: field }) => [name, randomValue(field, random, depth + 1)]),
  );
}

function randomValue(schema: Schema, random: Random, depth: number): unknown {
  const pick = <T>(choices: readonly T[]): T =>
    choices[Math.floor(random.next() * choices.length)]!;
  if (depth > DEPTH_MAX) return undefined;
  switch (schema.shape) {
    case "any":
      return pick([{}, { a: 1 }, undefined]);
    case "struct":
      return randomStruct(schema, random, depth);
    case "list":
      return Array.from({ length: pick([0, 1, 2]) }, () =>
        randomValue(schema.item, random, depth + 1),
      ).filter((item) => item !== undefined);
    case "map":
      return Object.fromEntries(
        pick([[], ["a"], ["cpu", "storage"], ["A b", "x/y"]]).map((key) => [
          key,
          randomValue(schema.value, random, depth + 1),
        ]),
      );
    case "scalar":
      switch (schema.scalar) {
        case "bool":
          return pick([true, false]);
        case "int":
        case "int32":
        case "int64":
        case "float64":
          return pick([0, 1, -1, 80, 70_000]);
        case "bytes":
          return pick(["", "eA=="]);
        case "Time":
          return pick([null, "2030-01-01T00:00:00Z"]);
        case "MicroTime":
          return pick([null, "2030-01-01T00:00:00.000001Z"]);
        case "Duration":
          return pick(["0s", "1h0m0s"]);
        case "Quantity":
          return pick(["0", "1", "-1", "1Gi", "1500m", "1n"]);
        case "IntOrString":
          return pick([0, 80, "50%", "http", ""]);
        default:
          return pick(TEXTS);
      }
  }
}

function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const item of Object.values(value)) freeze(item);
  return Object.freeze(value);
}
