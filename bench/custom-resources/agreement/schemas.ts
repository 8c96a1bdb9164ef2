/** Seeded structural schemas with all keywords that matter; a few of them have faults. */
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import type { Draft } from "#api/kind.ts";
import type { Dice } from "../../load/dice.ts";
import { valueFor } from "./values.ts";

export type Schema = Draft<JSONSchemaProps>;

const DEPTH_MAX = 4;
const FORMATS = [
  "date-time",
  "date",
  "duration",
  "byte",
  "uuid",
  "ipv4",
  "ipv6",
  "cidr",
  "uri",
  "email",
  "hostname",
  "mac",
  "int32",
  "password",
  "unknown-format",
];
const PATTERNS = ["^[a-z]+$", "^a", "b$", "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"];

/** The schema of a kind: its spec and status. */
export function rootSchema(dice: Dice): Schema {
  const root: Schema = {
    type: "object",
    properties: { spec: objectSchema(dice, 1), status: objectSchema(dice, 3) },
    ...dice.maybe(0.1, () => ({ required: ["spec"] })),
    ...dice.maybe(0.1, () => ({
      "x-kubernetes-validations": [{ rule: "self.metadata.name.size() < 8" }],
    })),
  };
  return dice.chance(0.12) ? withFault(dice, root) : root;
}

function schemaOf(dice: Dice, depth: number): Schema {
  const kinds = ["string", "string", "integer", "number", "boolean", "intOrString"];
  const deep = ["object", "object", "map", "array", "array", "set", "mapList", "free", "embedded"];
  const kind = dice.pick(depth >= DEPTH_MAX ? kinds : [...kinds, ...deep]);
  const schema = SCHEMAS[kind]!(dice, depth);
  if (dice.chance(0.1)) schema.nullable = true;
  if (dice.chance(0.05)) schema.description = "What it is.";
  if (dice.chance(0.25)) schema.default = valueFor(dice, schema, dice.chance(0.95)) as never;
  return schema;
}

const SCHEMAS: Readonly<Record<string, (dice: Dice, depth: number) => Schema>> = {
  string: (dice) => ({
    type: "string",
    ...dice.maybe(0.2, () => ({ enum: ["a", "b", "abc"] as never })),
    ...dice.maybe(0.2, () => ({ format: dice.pick(FORMATS) })),
    ...dice.maybe(0.2, () => ({ pattern: dice.pick(PATTERNS) })),
    ...dice.maybe(0.2, () => ({ minLength: dice.integer(3) })),
    ...dice.maybe(0.3, () => ({ maxLength: 2 + dice.integer(6) })),
    ...dice.maybe(0.2, () => ({ "x-kubernetes-validations": [stringRule(dice)] })),
  }),
  integer: (dice) => ({
    type: "integer",
    ...dice.maybe(0.2, () => ({ format: dice.pick(["int32", "int64"]) })),
    ...dice.maybe(0.3, () => ({ minimum: dice.integer(5) })),
    ...dice.maybe(0.3, () => ({ maximum: 4 + dice.integer(10), ...exclusive(dice) })),
    ...dice.maybe(0.1, () => ({ multipleOf: 2 })),
    ...dice.maybe(0.1, () => ({ enum: [1, 2, 3] as never })),
    ...dice.maybe(0.2, () => ({ "x-kubernetes-validations": [numberRule(dice)] })),
  }),
  number: (dice) => ({
    type: "number",
    ...dice.maybe(0.3, () => ({
      minimum: 0.5,
      ...dice.maybe(0.3, () => ({ exclusiveMinimum: true })),
    })),
    ...dice.maybe(0.2, () => ({ maximum: 10.5 })),
    ...dice.maybe(0.1, () => ({ multipleOf: 0.5 })),
  }),
  boolean: () => ({ type: "boolean" }),
  intOrString: () => ({ "x-kubernetes-int-or-string": true }),
  object: objectSchema,
  map: (dice, depth) => ({
    type: "object",
    additionalProperties: schemaOf(dice, depth + 1),
    ...dice.maybe(0.2, () => ({ maxProperties: 2 })),
    ...dice.maybe(0.2, () => ({ minProperties: 1 })),
    ...dice.maybe(0.1, () => ({ "x-kubernetes-map-type": "atomic" })),
  }),
  array: (dice, depth) => ({
    type: "array",
    items: schemaOf(dice, depth + 1),
    ...dice.maybe(0.3, () => ({ maxItems: 1 + dice.integer(3) })),
    ...dice.maybe(0.2, () => ({ minItems: 1 })),
    ...dice.maybe(0.2, () => ({ "x-kubernetes-list-type": "atomic" })),
    ...dice.maybe(0.2, () => ({
      maxItems: 3,
      "x-kubernetes-validations": [{ rule: "self.size() != 2", message: "two are too few" }],
    })),
  }),
  set: (dice) => ({
    type: "array",
    items: { type: dice.pick(["string", "integer"]) },
    "x-kubernetes-list-type": "set",
  }),
  mapList: (dice, depth) => ({
    type: "array",
    items: {
      type: "object",
      required: ["key"],
      properties: { key: { type: "string" }, ...objectSchema(dice, depth + 1).properties },
    },
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["key"],
  }),
  free: (dice) => ({
    ...dice.maybe(0.7, () => ({ type: "object" })),
    ...dice.maybe(0.3, () => ({ type: "object", properties: { a: { type: "integer" } } })),
    "x-kubernetes-preserve-unknown-fields": true,
  }),
  embedded: (dice) => ({
    type: "object",
    "x-kubernetes-embedded-resource": true,
    ...(dice.chance(0.5)
      ? { "x-kubernetes-preserve-unknown-fields": true }
      : { properties: { a: { type: "string" } } }),
  }),
};

const NAMES = ["a", "b", "c", "d", "e"];

function objectSchema(dice: Dice, depth: number): Schema {
  const count = 1 + dice.integer(depth === 1 ? NAMES.length : 3);
  const names = NAMES.slice(0, count);
  const properties = Object.fromEntries(names.map((name) => [name, schemaOf(dice, depth + 1)]));
  const scalars = names.filter((name) =>
    ["string", "integer"].includes(properties[name]!.type ?? ""),
  );
  return {
    type: "object",
    properties,
    ...dice.maybe(0.2, () => ({ required: [dice.pick(names)] })),
    ...dice.maybe(0.15, () => ({ minProperties: 1 })),
    ...dice.maybe(0.15, () => ({ anyOf: names.slice(0, 2).map((one) => ({ required: [one] })) })),
    ...dice.maybe(0.1, () => ({ not: { required: names.slice(-2) } })),
    ...dice.maybe(0.1, () => ({ oneOf: names.map((one) => ({ required: [one] })) })),
    ...(scalars.length > 0 && dice.chance(0.5)
      ? { "x-kubernetes-validations": [objectRule(dice, scalars, properties)] }
      : {}),
  };
}

function exclusive(dice: Dice): Schema {
  return dice.maybe(0.3, () => ({ exclusiveMaximum: true }));
}

type Rule = NonNullable<Schema["x-kubernetes-validations"]>[number];

function stringRule(dice: Dice): Rule {
  return dice.pick<Rule>([
    { rule: "self.startsWith('a')" },
    { rule: "self != 'abc'", message: "must not be abc", reason: "FieldValueForbidden" },
    { rule: "self.size() <= 4", messageExpression: "'too long: ' + self" },
    { rule: "self == oldSelf", message: "cannot change" },
    { rule: "!oldSelf.hasValue() || self == oldSelf.value()", optionalOldSelf: true },
    { rule: "self.matches('^[a-c]*$')" },
  ]);
}

function numberRule(dice: Dice): Rule {
  return dice.pick<Rule>([
    { rule: "self < 9" },
    { rule: "self >= oldSelf", message: "must not decrease" },
    { rule: "self % 2 == 0 || self > 4", messageExpression: "'odd: ' + string(self)" },
    { rule: "10 / self > 1" },
  ]);
}

function objectRule(
  dice: Dice,
  scalars: readonly string[],
  properties: Readonly<Record<string, Schema>>,
): Rule {
  const name = dice.pick(scalars);
  const isText = properties[name]!.type === "string";
  return dice.pick<Rule>([
    { rule: `!has(self.${name}) || self.${name} ${isText ? "!= 'b'" : "!= 3"}` },
    { rule: `has(self.${name})`, reason: "FieldValueRequired", fieldPath: `.${name}` },
    { rule: `!has(oldSelf.${name}) || has(self.${name})`, message: "once set it stays" },
    { rule: `self.${name} == ${isText ? "'a'" : "1"}`, messageExpression: "'it is wrong'" },
  ]);
}

/** Something that the definition must be refused for, or not: that is what is compared. */
function withFault(dice: Dice, root: Schema): Schema {
  const spec = root.properties!.spec!;
  switch (dice.integer(9)) {
    case 0:
      spec.properties!.bad = { properties: { a: { type: "string" } } };
      break;
    case 1:
      spec["x-kubernetes-validations"] = [{ rule: "self.nothing > 1" }];
      break;
    case 2:
      spec.properties!.bad = { type: "string", pattern: "(" };
      break;
    case 3:
      spec.properties!.bad = {
        type: "array",
        items: { type: "object", properties: { k: { type: "string" } } },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
      };
      break;
    case 4:
      spec.properties!.bad = { type: "integer", default: "text" as never };
      break;
    case 5:
      spec.allOf = [{ properties: { z: { type: "string" } } }];
      break;
    case 6:
      spec.additionalProperties = { type: "string" };
      break;
    case 7:
      spec["x-kubernetes-validations"] = [{ rule: "self.a.b.c(" }, { rule: "" }];
      break;
    default:
      spec.properties!.bad = { type: "array", items: { type: "array" }, uniqueItems: true };
  }
  return root;
}
