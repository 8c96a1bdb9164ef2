/**
 * Whether pruning, dropping nulls and setting defaults would leave a value as it is. It is one walk
 * without copies, for the many values of which this is true. The answer may be false where nothing would
 * change: embedded resources are not looked into.
 */
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { additionalSchema, itemsSchema } from "./walk.ts";

const RESOURCE_FIELDS = new Set(["apiVersion", "kind", "metadata"]);

/** `isResource`: the value is a resource, whose apiVersion, kind and metadata are always known. */
export function isNormalized(
  value: unknown,
  schema: JSONSchemaProps | undefined,
  isResource = false,
): boolean {
  if (typeof value !== "object" || value === null) return true;
  const keepsUnknown = schema?.["x-kubernetes-preserve-unknown-fields"] === true;
  if (Array.isArray(value)) {
    const items = schema && itemsSchema(schema);
    if (items === undefined) return keepsUnknown || value.every(isScalar);
    return value.every((item) => isInPlace(item, items));
  }
  if (schema === undefined) return Object.keys(value).length === 0;
  if (schema["x-kubernetes-embedded-resource"] === true) return false;
  const { properties } = schema;
  for (const name in properties) {
    if (properties[name]!.default !== undefined && !Object.hasOwn(value, name)) return false;
  }
  const additional = additionalSchema(schema);
  for (const [name, item] of Object.entries(value)) {
    const property =
      properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (isResource && RESOURCE_FIELDS.has(name)) {
      // Kept whole; only what the schema says about metadata could still change it.
      if (property?.properties !== undefined) return false;
    } else if (property !== undefined) {
      if (!isInPlace(item, property)) return false;
    } else if (additional !== undefined) {
      if (!isInPlace(item, additional)) return false;
    } else if (schema.additionalProperties !== undefined) {
      if (!isNormalized(item, undefined)) return false;
    } else if (!keepsUnknown) return false;
  }
  return true;
}

/** A null stands only where the schema allows it. */
function isInPlace(item: unknown, schema: JSONSchemaProps): boolean {
  if (item === null) return schema.nullable === true;
  return isNormalized(item, schema);
}

function isScalar(item: unknown): boolean {
  return typeof item !== "object" || item === null;
}
