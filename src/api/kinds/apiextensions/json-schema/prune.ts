/** Removes what a structural schema does not know. */
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { additionalSchema, itemsSchema } from "./walk.ts";

const RESOURCE_FIELDS = new Set(["apiVersion", "kind", "metadata"]);

/**
 * The value without unknown fields; shares with the input what it did not have to change.
 * `isResource`: the value is a resource, whose apiVersion, kind and metadata are always known.
 */
export function prune(
  value: unknown,
  schema: JSONSchemaProps | undefined,
  isResource = false,
): unknown {
  const keepsUnknown = schema?.["x-kubernetes-preserve-unknown-fields"] === true;
  if (Array.isArray(value)) {
    const items = schema && itemsSchema(schema);
    if (keepsUnknown && items === undefined) return value;
    return value.map((item) => prune(item, items));
  }
  if (typeof value !== "object" || value === null) return value;
  const additional = schema && additionalSchema(schema);
  const resource = isResource || schema?.["x-kubernetes-embedded-resource"] === true;
  const kept: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const property = schema?.properties?.[key];
    if (resource && RESOURCE_FIELDS.has(key)) kept[key] = item;
    else if (property !== undefined) kept[key] = prune(item, property);
    else if (schema?.additionalProperties !== undefined) kept[key] = prune(item, additional);
    else if (keepsUnknown) kept[key] = item;
  }
  return kept;
}
