/** Lists of a custom resource that are sets or maps: what their items must be like. */
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from "#api/validation/field-error.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import type { Path } from "#api/validation/path.ts";
import { itemsSchema, itemsSchemas } from "../json-schema/walk.ts";

const LIST_TYPES = ["atomic", "set", "map"];

export function validateListType(
  schema: JSONSchemaProps,
  requireAtomicSetItems: boolean,
  path: Path,
): FieldError[] {
  const listType = schema["x-kubernetes-list-type"];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const { type = "" } = schema;
  const errors: FieldError[] = [];
  const listTypePath = path.child("x-kubernetes-list-type");
  if (listType !== undefined && type !== "array") {
    const detail = "must be array if x-kubernetes-list-type is specified";
    const at = path.child("type");
    errors.push(type === "" ? required(at, detail) : invalid(at, type, detail));
  } else if (requireAtomicSetItems && isSetOfNonAtomic(schema)) {
    const items = itemsSchema(schema)!;
    const field = items.type === "array" ? "x-kubernetes-list-type" : "x-kubernetes-map-type";
    const detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
    const value = items["x-kubernetes-list-type"] ?? null;
    errors.push(invalid(path.child("items", field), value, detail));
  }
  if (listType !== undefined && !LIST_TYPES.includes(listType)) {
    errors.push(notSupported(listTypePath, listType, LIST_TYPES));
  }
  if (keys.length > 0 && listType !== "map") {
    const detail = "must be map if x-kubernetes-list-map-keys is non-empty";
    errors.push(
      listType === undefined
        ? required(listTypePath, detail)
        : invalid(listTypePath, listType, detail),
    );
  }
  if (listType === "map") errors.push(...validateMapList(schema, keys, path));
  return errors;
}

export function isSetOfNonAtomic(schema: JSONSchemaProps): boolean {
  const items = itemsSchema(schema);
  if (schema["x-kubernetes-list-type"] !== "set" || items === undefined) return false;
  if (items.type === "array") return (items["x-kubernetes-list-type"] ?? "atomic") !== "atomic";
  return items.type === "object" && items["x-kubernetes-map-type"] !== "atomic";
}

function validateMapList(
  schema: JSONSchemaProps,
  keys: readonly string[],
  path: Path,
): FieldError[] {
  const errors: FieldError[] = [];
  const keysPath = path.child("x-kubernetes-list-map-keys");
  const itemsPath = path.child("items");
  if (keys.length === 0) {
    errors.push(required(keysPath, "must not be empty if x-kubernetes-list-type is map"));
  }
  if (schema.items === undefined) {
    errors.push(required(itemsPath, "must have a schema if x-kubernetes-list-type is map"));
  }
  if (itemsSchemas(schema).length > 0) {
    const value = internalForm("*apiextensions.v1.JSONSchemaPropsOrArray", schema.items);
    const detail = "must only have a single schema if x-kubernetes-list-type is map";
    errors.push(invalid(itemsPath, value, detail));
  }
  const items = itemsSchema(schema);
  if (items === undefined) return errors;
  if (items.type !== "object") {
    const detail = "must be object if parent array's x-kubernetes-list-type is map";
    return [...errors, invalid(itemsPath.child("type"), items.type ?? "", detail)];
  }
  const seen = new Set<string>();
  for (const key of keys) {
    const property = items.properties?.[key];
    if (property === undefined) {
      errors.push(invalid(keysPath, keys, "entries must all be names of item properties"));
    } else if (property.type === "array" || property.type === "object") {
      const at = itemsPath.child("properties").key(key).child("type");
      const detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
      errors.push(invalid(at, items.type, detail));
    }
    if (seen.has(key)) {
      errors.push(invalid(keysPath, keys, "must not contain duplicate entries"));
    }
    seen.add(key);
  }
  return errors;
}

/** Keys identify an item, so that each must have a value: required or defaulted, never null. */
export function validateMapListKeys(schema: JSONSchemaProps, path: Path): FieldError[] {
  const listType = schema["x-kubernetes-list-type"];
  const items = itemsSchema(schema);
  if (items === undefined || (listType !== "set" && listType !== "map")) return [];
  const errors: FieldError[] = [];
  const itemsPath = path.child("items");
  if (items.nullable) {
    const detail = `cannot be nullable when x-kubernetes-list-type is ${listType}`;
    errors.push(forbidden(itemsPath.child("nullable"), detail));
  }
  if (listType === "set") return errors;
  for (const key of schema["x-kubernetes-list-map-keys"] ?? []) {
    const property = items.properties?.[key];
    if (property === undefined) continue;
    const at = itemsPath.child("properties").key(key);
    const reason = "this property is in x-kubernetes-list-map-keys, so it";
    if (!(items.required ?? []).includes(key) && property.default === undefined) {
      const detail = `${reason} must have a default or be a required property`;
      errors.push(required(at.child("default"), detail));
    }
    if (property.nullable) {
      errors.push(forbidden(at.child("nullable"), `${reason} cannot be nullable`));
    }
  }
  return errors;
}
