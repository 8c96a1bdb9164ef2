/**
 * Structural schemas: every field has one type, stated outside the logical parts (allOf, anyOf,
 * oneOf, not), which may only restrict values of fields that are already there. Pruning, defaults
 * and server-side apply depend on it.
 */
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { jsonEqual } from "#api/patch/json-value.ts";
import { type FieldError, forbidden, invalid, required } from "#api/validation/field-error.ts";
import { formatFieldError } from "#api/validation/format-field-error.ts";
import type { Path } from "#api/validation/path.ts";
import { compilePattern } from "./pattern.ts";
import { additionalSchema, itemsSchema, itemsSchemas } from "./walk.ts";

type Level = "root" | "item" | "field";

/** Why the schema cannot even be read as a structural one. */
export function structuralFault(schema: JSONSchemaProps): string | undefined {
  const { allOf = [], anyOf = [], oneOf = [], not, properties = {} } = schema;
  for (const [field, isUsed] of UNSUPPORTED) {
    if (isUsed(schema)) return `OpenAPIV3Schema '${field}' is not supported`;
  }
  if (schema["x-kubernetes-preserve-unknown-fields"] === false) {
    return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
  }
  if (itemsSchemas(schema).length > 0) {
    return "OpenAPIV3Schema 'items' must be a schema, but is an array";
  }
  const children = [not, ...allOf, ...anyOf, ...oneOf, itemsSchema(schema)];
  for (const child of [...children, ...Object.values(properties), additionalSchema(schema)]) {
    const fault = child && structuralFault(child);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

const isSome = (map: object | undefined): boolean => Object.keys(map ?? {}).length > 0;

const UNSUPPORTED: readonly (readonly [string, (schema: JSONSchemaProps) => boolean])[] = [
  ["id", ({ id = "" }) => id !== ""],
  ["schema", ({ $schema = "" }) => $schema !== ""],
  ["$ref", ({ $ref = "" }) => $ref !== ""],
  ["patternProperties", ({ patternProperties }) => isSome(patternProperties)],
  ["dependencies", ({ dependencies }) => isSome(dependencies)],
  ["additionalItems", ({ additionalItems }) => additionalItems !== undefined],
  ["definitions", ({ definitions }) => isSome(definitions)],
];

/** Every breach, in the order of its text. */
export function validateStructural(schema: JSONSchemaProps, path: Path): FieldError[] {
  const errors = [...invariants(schema, "root", path), ...completeness(schema, schema, path, path)];
  const textOf = (error: FieldError) => `${error.field}: ${formatFieldError(error)}`;
  return errors.sort((a, b) => (textOf(a) < textOf(b) ? -1 : 1));
}

function invariants(schema: JSONSchemaProps, level: Level, path: Path): FieldError[] {
  const { type = "", properties = {} } = schema;
  const errors: FieldError[] = [];
  const items = itemsSchema(schema);
  if (type === "array" && items === undefined) {
    errors.push(required(path.child("items"), "must be specified"));
  }
  if (items !== undefined) errors.push(...invariants(items, "item", path.child("items")));
  for (const [name, property] of Object.entries(properties)) {
    errors.push(...invariants(property, "field", path.child("properties").key(name)));
  }
  if (schema.additionalProperties !== undefined) {
    const at = path.child("additionalProperties");
    if (level === "root") errors.push(forbidden(at, "must not be used at the root"));
    const additional = additionalSchema(schema);
    if (additional !== undefined) errors.push(...invariants(additional, "field", at));
  }
  errors.push(...validateExtensions(schema, path));
  errors.push(
    ...validateLogic(
      schema,
      isIntOrString(schema.anyOf),
      isIntOrString(schema.allOf?.[0]?.anyOf),
      path,
    ),
  );
  return [
    ...errors,
    ...validateType(schema, level, path),
    ...validateResource(schema, level, path),
  ];
}

function validateExtensions(schema: JSONSchemaProps, path: Path): FieldError[] {
  if (!schema["x-kubernetes-int-or-string"]) return [];
  const others = [
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
  ] as const;
  return others
    .filter((field) => schema[field])
    .map((field) =>
      invalid(path.child(field), true, "must be false if x-kubernetes-int-or-string is true"),
    );
}

function validateType(schema: JSONSchemaProps, level: Level, path: Path): FieldError[] {
  const { type = "" } = schema;
  const at = path.child("type");
  const errors: FieldError[] = [];
  if (schema["x-kubernetes-embedded-resource"] && type !== "object") {
    const detail = "must be object if x-kubernetes-embedded-resource is true";
    errors.push(type === "" ? required(at, detail) : invalid(at, type, detail));
  } else if (
    type === "" &&
    !schema["x-kubernetes-int-or-string"] &&
    !schema["x-kubernetes-preserve-unknown-fields"]
  ) {
    errors.push(required(at, EMPTY_TYPE[level]));
  }
  if (schema["x-kubernetes-embedded-resource"] && schema.additionalProperties !== undefined) {
    const detail = "must not be used if x-kubernetes-embedded-resource is set";
    errors.push(forbidden(path.child("additionalProperties"), detail));
  }
  if (level === "root" && type !== "" && type !== "object") {
    errors.push(invalid(at, type, "must be object at the root"));
  }
  return errors;
}

const EMPTY_TYPE: Readonly<Record<Level, string>> = {
  root: "must not be empty at the root",
  item: "must not be empty for specified array items",
  field: "must not be empty for specified object fields",
};

/** `kind`, `apiVersion` and `metadata` of a resource are what they are everywhere. */
function validateResource(schema: JSONSchemaProps, level: Level, path: Path): FieldError[] {
  const { properties = {} } = schema;
  const isResource = level === "root" || schema["x-kubernetes-embedded-resource"] === true;
  const errors: FieldError[] = [];
  for (const name of ["kind", "apiVersion"]) {
    const property = properties[name];
    if (!isResource || property === undefined || property.type === "string") continue;
    const at = path.child("properties").key(name).child("type");
    errors.push(invalid(at, property.type ?? "", "must be string"));
  }
  const { metadata } = properties;
  if (metadata !== undefined) {
    const at = path.child("properties").key("metadata");
    if (isResource && metadata.type !== "object") {
      errors.push(invalid(at.child("type"), metadata.type ?? "", "must be object"));
    }
    if (level === "root" && saysMoreThanNames(metadata)) {
      const detail =
        "must not specify anything other than name and generateName, but metadata is implicitly specified";
      errors.push(forbidden(at, detail));
    }
  }
  const needsProperties =
    schema["x-kubernetes-embedded-resource"] && !schema["x-kubernetes-preserve-unknown-fields"];
  if (needsProperties && Object.keys(properties).length === 0) {
    const detail =
      "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
    errors.push(required(path.child("properties"), detail));
  }
  return errors;
}

function saysMoreThanNames({
  type: _,
  default: __,
  properties,
  ...rest
}: JSONSchemaProps): boolean {
  const others = Object.keys(properties ?? {}).filter(
    (name) => name !== "name" && name !== "generateName",
  );
  return others.length > 0 || Object.keys(rest).length > 0;
}

/** The one place where types may stand in an `anyOf`. */
function isIntOrString(anyOf: readonly JSONSchemaProps[] | undefined): boolean {
  return jsonEqual(anyOf ?? [], [{ type: "integer" }, { type: "string" }]);
}

function validateLogic(
  schema: JSONSchemaProps,
  skipAnyOf: boolean,
  skipFirstAllOfAnyOf: boolean,
  path: Path,
): FieldError[] {
  const { anyOf = [], allOf = [], oneOf = [], not, pattern = "" } = schema;
  const errors: FieldError[] = [];
  if (!skipAnyOf) {
    errors.push(...anyOf.flatMap((s, i) => nested(s, false, path.child("anyOf").index(i))));
  }
  errors.push(
    ...allOf.flatMap((s, i) =>
      nested(s, skipFirstAllOfAnyOf && i === 0, path.child("allOf").index(i)),
    ),
    ...oneOf.flatMap((s, i) => nested(s, false, path.child("oneOf").index(i))),
    ...(not === undefined ? [] : nested(not, false, path.child("not"))),
  );
  const compiled = pattern === "" ? undefined : compilePattern(pattern);
  if (compiled?.ok === false) {
    const detail = `must be a valid regular expression, but isn't: ${compiled.fault}`;
    errors.push(invalid(path.child("pattern"), pattern, detail));
  }
  return errors;
}

type Forbidden = readonly [keyof JSONSchemaProps, (value: unknown) => boolean, string];
const isGiven = (value: unknown): boolean => value !== undefined;
const isTrue = (value: unknown): boolean => value === true;
const isText = (value: unknown): boolean => typeof value === "string" && value !== "";
const isList = (value: unknown): boolean => Array.isArray(value) && value.length > 0;

/** What may not stand in logical parts, in the order in which it is looked for. */
const FORBIDDEN_NESTED: readonly Forbidden[] = [
  ["default", isGiven, "must be undefined to be structural"],
  ["title", isText, "must be empty to be structural"],
  ["description", isText, "must be empty to be structural"],
  ["nullable", isTrue, "must be false to be structural"],
  ["x-kubernetes-preserve-unknown-fields", isTrue, "must be false to be structural"],
  ["x-kubernetes-embedded-resource", isTrue, "must be false to be structural"],
  ["x-kubernetes-int-or-string", isTrue, "must be false to be structural"],
  ["x-kubernetes-list-map-keys", isList, "must be empty to be structural"],
  ["x-kubernetes-list-type", isGiven, "must be undefined to be structural"],
  ["x-kubernetes-map-type", isGiven, "must be undefined to be structural"],
  ["x-kubernetes-validations", isList, "must be empty to be structural"],
];

function nested(schema: JSONSchemaProps, skipAnyOf: boolean, path: Path): FieldError[] {
  const { type = "", properties = {}, additionalProperties } = schema;
  const items = itemsSchema(schema);
  const errors = validateLogic(schema, skipAnyOf, false, path);
  if (items !== undefined) errors.push(...nested(items, false, path.child("items")));
  for (const [name, property] of Object.entries(properties)) {
    errors.push(...nested(property, false, path.child("properties").key(name)));
  }
  if (type !== "") {
    errors.push(forbidden(path.child("type"), "must be empty to be structural"));
  }
  if (additionalProperties !== undefined && additionalProperties !== false) {
    const detail = "must be undefined to be structural";
    errors.push(forbidden(path.child("additionalProperties"), detail));
  }
  for (const [field, isBad, detail] of FORBIDDEN_NESTED) {
    if (isBad(schema[field])) errors.push(forbidden(path.child(field), detail));
  }
  if (properties.metadata !== undefined) {
    const at = path.child("properties").key("metadata");
    errors.push(forbidden(at, "must not be specified in a nested context"));
  }
  return errors;
}

/** Each field that a logical part of `part` speaks of must be there in `schema` itself. */
function completeness(
  part: JSONSchemaProps,
  schema: JSONSchemaProps,
  schemaPath: Path,
  partPath: Path,
): FieldError[] {
  const { not, allOf = [], anyOf = [], oneOf = [] } = part;
  const within = (child: JSONSchemaProps, at: Path) =>
    nestedCompleteness(child, schema, schemaPath, at);
  return [
    ...(not === undefined ? [] : within(not, partPath.child("not"))),
    ...allOf.flatMap((child, i) => within(child, partPath.child("allOf").index(i))),
    ...anyOf.flatMap((child, i) => within(child, partPath.child("anyOf").index(i))),
    ...oneOf.flatMap((child, i) => within(child, partPath.child("oneOf").index(i))),
  ];
}

function nestedCompleteness(
  part: JSONSchemaProps,
  schema: JSONSchemaProps | undefined,
  schemaPath: Path,
  partPath: Path,
): FieldError[] {
  if (schema === undefined) {
    return [required(schemaPath, `because it is defined in ${partPath}`)];
  }
  const errors = completeness(part, schema, schemaPath, partPath);
  const items = itemsSchema(part);
  if (items !== undefined) {
    errors.push(
      ...nestedCompleteness(
        items,
        itemsSchema(schema),
        schemaPath.child("items"),
        partPath.child("items"),
      ),
    );
  }
  for (const [name, property] of Object.entries(part.properties ?? {})) {
    const at = schemaPath.child("properties").key(name);
    const from = partPath.child("properties").key(name);
    errors.push(...nestedCompleteness(property, schema.properties?.[name], at, from));
  }
  return errors;
}
