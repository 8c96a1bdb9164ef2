/**
 * Defaults of a structural schema, and nulls. A null in a field that is not nullable counts as absent:
 * it becomes the default, or is removed where there is none. Server-side apply sets defaults only:
 * there such a null is refused by validation.
 */
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { additionalSchema, itemsSchema } from "./walk.ts";

type Members = Record<string, unknown>;

/**
 * Removes nulls that are neither allowed nor replaced by a default. Changes the value in place; returns
 * whether anything changed.
 */
export function dropNulls(value: unknown, schema: JSONSchemaProps | undefined): boolean {
  if (schema === undefined || typeof value !== "object" || value === null) return false;
  let changed = false;
  if (Array.isArray(value)) {
    const items = itemsSchema(schema);
    for (const item of value) changed = dropNulls(item, items) || changed;
    return changed;
  }
  const members = value as Members;
  for (const key of Object.keys(members)) {
    const inner = childOf(schema, key);
    if (inner === undefined) continue;
    if (members[key] === null && !inner.nullable && inner.default === undefined) {
      delete members[key];
      changed = true;
    } else changed = dropNulls(members[key], inner) || changed;
  }
  return changed;
}

/** Changes the value in place. Defaults are copied. Returns whether anything changed. */
export function applyDefaults(value: unknown, schema: JSONSchemaProps | undefined): boolean {
  if (schema === undefined || typeof value !== "object" || value === null) return false;
  let changed = false;
  if (Array.isArray(value)) {
    const items = itemsSchema(schema);
    for (const [i, item] of value.entries()) {
      if (item === null && items?.nullable !== true && items?.default !== undefined) {
        value[i] = structuredClone(items.default);
        changed = true;
      }
      changed = applyDefaults(value[i], items) || changed;
    }
    return changed;
  }
  const members = value as Members;
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    if (property.default === undefined) continue;
    const isMissing = !Object.hasOwn(members, key) || (members[key] === null && !property.nullable);
    if (!isMissing) continue;
    members[key] = structuredClone(property.default);
    changed = true;
  }
  for (const key of Object.keys(members)) {
    const inner = childOf(schema, key);
    if (inner === undefined) continue;
    if (members[key] === null && !inner.nullable && inner.default !== undefined) {
      members[key] = structuredClone(inner.default);
      changed = true;
    }
    changed = applyDefaults(members[key], inner) || changed;
  }
  return changed;
}

function childOf(schema: JSONSchemaProps, key: string): JSONSchemaProps | undefined {
  const { properties } = schema;
  if (properties !== undefined && Object.hasOwn(properties, key)) return properties[key];
  return additionalSchema(schema);
}
