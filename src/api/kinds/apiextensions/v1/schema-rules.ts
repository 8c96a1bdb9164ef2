/** What the JSON schema of a custom resource may say, beyond being structural. */

import { isEmptyCollection } from "#api/codec/empty-collections.ts";
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { validateOneOf } from "#api/validation/faults.ts";
import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";
import { additionalSchema, itemsSchema, itemsSchemas, someSchema } from "../json-schema/walk.ts";
import { validateListType, validateMapListKeys } from "./list-type-rules.ts";
import { validateSchemaExpressions } from "./schema-expression-rules.ts";

const TYPES = ["array", "boolean", "integer", "number", "object", "string"];
const RESOURCE_FIELDS = ["metadata", "kind", "apiVersion"];

export interface SchemaOptions {
  readonly requireKnownTypes: boolean;
  readonly requireAtomicSetItems: boolean;
  readonly requireMapListKeys: boolean;
}

/** What the place of a schema inside its parents forbids. */
interface Place {
  readonly isRoot: boolean;
  readonly insideMeta: boolean;
  /** Why there may be no defaults here; "" stands for no particular reason. */
  readonly noDefaults: string | undefined;
}

export function validateSchema(
  schema: JSONSchemaProps,
  options: SchemaOptions,
  path: Path,
): FieldError[] {
  const place = { isRoot: true, insideMeta: false, noDefaults: undefined };
  return validateAt(schema, place, options, path);
}

export function hasUnknownType(schema: JSONSchemaProps): boolean {
  return someSchema(schema, ({ type = "" }) => type !== "" && !TYPES.includes(type));
}

function validateAt(
  schema: JSONSchemaProps,
  place: Place,
  options: SchemaOptions,
  path: Path,
): FieldError[] {
  const errors = validateOwn(schema, place, options, path);
  const inside: Place = { ...place, isRoot: false };
  const below = (child: JSONSchemaProps | undefined, at: Path, where = inside) => {
    if (child !== undefined) errors.push(...validateAt(child, where, options, at));
  };
  if (schema.uniqueItems) {
    const detail =
      "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
    errors.push(forbidden(path.child("uniqueItems"), detail));
  }
  errors.push(...validateAdditionalProperties(schema, path));
  const noMetaDefaults = "inside additionalProperties applying to object metadata";
  below(
    additionalSchema(schema),
    path.child("additionalProperties"),
    place.insideMeta ? { ...inside, noDefaults: noMetaDefaults } : inside,
  );
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const at = path.child("properties").key(name);
    below(property, at, placeOfProperty(schema, name, place));
  }
  below(schema.not, path.child("not"));
  for (const field of ["allOf", "oneOf", "anyOf"] as const) {
    for (const [i, child] of (schema[field] ?? []).entries()) {
      below(child, path.child(field).index(i));
    }
  }
  for (const [name, child] of Object.entries(schema.definitions ?? {})) {
    below(child, path.child("definitions").key(name));
  }
  below(itemsSchema(schema), path.child("items"));
  for (const [i, child] of itemsSchemas(schema).entries()) {
    below(child, path.child("items").index(i));
  }
  for (const [name, child] of Object.entries(schema.dependencies ?? {})) {
    if (!Array.isArray(child)) {
      below(child as JSONSchemaProps, path.child("dependencies").key(name));
    }
  }
  errors.push(...validateExtensions(schema, options, path));
  return errors;
}

function placeOfProperty(schema: JSONSchemaProps, name: string, place: Place): Place {
  const inside = { ...place, isRoot: false };
  const isResource = place.isRoot || schema["x-kubernetes-embedded-resource"] === true;
  if (!isResource || !RESOURCE_FIELDS.includes(name)) return inside;
  return {
    ...inside,
    insideMeta: true,
    ...(place.isRoot ? { noDefaults: `in top-level ${name}` } : {}),
  };
}

/** Keywords of JSON schema that are not for custom resources. */
const UNSUPPORTED: readonly (readonly [string, (schema: JSONSchemaProps) => boolean])[] = [
  ["id", ({ id = "" }) => id !== ""],
  ["additionalItems", ({ additionalItems }) => additionalItems !== undefined],
  ["patternProperties", ({ patternProperties }) => isSome(patternProperties)],
  ["definitions", ({ definitions }) => isSome(definitions)],
  [
    "dependencies",
    (schema) => schema.dependencies !== undefined || isEmptyCollection(schema, "dependencies"),
  ],
  ["$ref", ({ $ref }) => $ref !== undefined],
];

function isSome(map: object | undefined): boolean {
  return Object.keys(map ?? {}).length > 0;
}

function validateOwn(
  schema: JSONSchemaProps,
  { insideMeta, noDefaults }: Place,
  { requireKnownTypes }: SchemaOptions,
  path: Path,
): FieldError[] {
  const { type = "" } = schema;
  const errors: FieldError[] = [];
  if (requireKnownTypes && type !== "") {
    errors.push(...validateOneOf(path.child("type"), type, TYPES));
  }
  if (schema.default !== undefined && noDefaults !== undefined) {
    errors.push(forbidden(path.child("default"), `must not be set ${noDefaults}`));
  }
  for (const [field, isUsed] of UNSUPPORTED) {
    if (isUsed(schema)) errors.push(forbidden(path.child(field), `${field} is not supported`));
  }
  if (type === "null") {
    const detail = "type cannot be set to null, use nullable as an alternative";
    errors.push(forbidden(path.child("type"), detail));
  }
  if (itemsSchemas(schema).length > 0) {
    errors.push(forbidden(path.child("items"), "items must be a schema object and not an array"));
  }
  if (insideMeta && schema["x-kubernetes-embedded-resource"]) {
    const at = path.child("x-kubernetes-embedded-resource");
    errors.push(forbidden(at, "must not be used inside of resource meta"));
  }
  return errors;
}

function validateAdditionalProperties(schema: JSONSchemaProps, path: Path): FieldError[] {
  const { additionalProperties } = schema;
  if (additionalProperties === undefined || additionalProperties === true) return [];
  if (!isSome(schema.properties)) return [];
  const detail = "additionalProperties and properties are mutual exclusive";
  return [forbidden(path.child("additionalProperties"), detail)];
}

function validateExtensions(
  schema: JSONSchemaProps,
  options: SchemaOptions,
  path: Path,
): FieldError[] {
  const errors: FieldError[] = [];
  const { type = "" } = schema;
  const preserve = schema["x-kubernetes-preserve-unknown-fields"];
  if (preserve === false) {
    const at = path.child("x-kubernetes-preserve-unknown-fields");
    errors.push(invalid(at, preserve, "must be true or undefined"));
  }
  const mapType = schema["x-kubernetes-map-type"];
  if (mapType !== undefined && type !== "object") {
    const detail = "must be object if x-kubernetes-map-type is specified";
    const at = path.child("type");
    errors.push(type === "" ? required(at, detail) : invalid(at, type, detail));
  }
  if (mapType !== undefined && mapType !== "atomic" && mapType !== "granular") {
    errors.push(notSupported(path.child("x-kubernetes-map-type"), mapType, ["atomic", "granular"]));
  }
  errors.push(...validateListType(schema, options.requireAtomicSetItems, path));
  if (options.requireMapListKeys) errors.push(...validateMapListKeys(schema, path));
  return [...errors, ...validateSchemaExpressions(schema, path)];
}
