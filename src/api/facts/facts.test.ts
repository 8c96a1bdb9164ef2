/**
 * The fact tables against the client library that was generated from the same API: every type it
 * exports, every field, its type, and whether it is required.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as models from "@kubernetes/client-node/dist/gen/models/all.js";
import { test } from "vitest";
import { schemaOf } from "#api/schema/from-facts.ts";
import type { Schema, StructSchema } from "#api/schema/schema.ts";
import { MODELS_FOLDER, modelsOfTypes } from "../../../tools/client-models.ts";

interface Attribute {
  readonly baseName: string;
  readonly type: string;
  readonly format: string;
}
interface Model {
  readonly attributeTypeMap: readonly Attribute[];
}

/** What the library has and our tables do not: values that are no structs, and what is no API type. */
const VALUES = new Set(["V1MicroTime", "IntOrString", "VersionInfo"]);

const classes = new Map(Object.entries(models) as [string, unknown][]);
const classOfType = modelsOfTypes(new Set(classes.keys()));

test("OpenAPI facts: every model of client-node has its struct", () => {
  const found = new Set(classOfType.values());
  const missing = [...classes.keys()].filter((name) => !found.has(name) && !VALUES.has(name));
  assert.deepEqual(missing, []);
  assert.ok(found.size >= 750, `${found.size} models`);
});

test("OpenAPI facts: every struct has the fields of its client-node model, with the same types and required fields", () => {
  const differences: string[] = [];
  for (const [type, name] of classOfType) {
    const model = classes.get(name) as Model;
    const want = new Map(model.attributeTypeMap.map((a) => [a.baseName, a]));
    const required = requiredFields(name);
    const schema = schemaOf(type);
    for (const field of schema.fields) {
      const attribute = want.get(field.name);
      want.delete(field.name);
      if (attribute === undefined) {
        differences.push(`${type}.${field.name} is not in ${name}`);
        continue;
      }
      const ours = describeType(field.schema);
      const theirs =
        attribute.format === "" ? attribute.type : `${attribute.type}:${attribute.format}`;
      if (ours !== theirs) differences.push(`${type}.${field.name}: ${ours}, not ${theirs}`);
      if (field.required !== required.has(field.name)) {
        differences.push(`${type}.${field.name}: required ${field.required}`);
      }
    }
    for (const left of want.keys()) differences.push(`${type} lacks ${left}`);
  }
  assert.deepEqual(differences, []);
});

/** The declaration shows what is required: `'name': string` against `'name'?: string`. */
function requiredFields(name: string): Set<string> {
  const text = readFileSync(join(MODELS_FOLDER, `${name}.d.ts`), "utf8");
  const attributes = (classes.get(name) as Model).attributeTypeMap as readonly (Attribute & {
    name: string;
  })[];
  const baseNames = new Map(attributes.map((a) => [a.name, a.baseName]));
  return new Set(
    [...text.matchAll(/^ {4}'([^']+)': /gm)].map(([, field]) => baseNames.get(field!)!),
  );
}

/** A type as the library writes it; the format of the innermost value stands at the end. */
function describeType(schema: Schema): string {
  switch (schema.shape) {
    case "struct":
      return classNameOf(schema);
    case "any":
      return "any";
    case "list": {
      const [item, format] = describeType(schema.item).split(":");
      return `Array<${item}>${format === undefined ? "" : `:${format}`}`;
    }
    case "map": {
      const [value, format] = describeType(schema.value).split(":");
      return `{ [key: string]: ${value}; }${format === undefined ? "" : `:${format}`}`;
    }
    case "scalar":
      return SCALARS[schema.scalar]!;
  }
}

const SCALARS: Readonly<Record<string, string>> = {
  string: "string",
  UID: "string",
  bool: "boolean",
  int32: "number:int32",
  int64: "number:int64",
  float64: "number:double",
  bytes: "string:byte",
  Time: "Date:date-time",
  MicroTime: "V1MicroTime:date-time-micro",
  Quantity: "string",
  IntOrString: "IntOrString:int-or-string",
};

function classNameOf(schema: StructSchema): string {
  for (const [type, name] of classOfType) if (schemaOf(type).fields === schema.fields) return name;
  return schema.fields.length === 0 ? "any" : schema.name;
}
