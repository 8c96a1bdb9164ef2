/** Lists that are sets or maps hold no item twice. */
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { goMapJson } from "#api/meta/go-json.ts";
import { duplicate, type FieldError } from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";
import { additionalSchema, itemsSchema } from "./walk.ts";

/** `path`: of the value; field names start at its members without one. */
export function validateListItems(
  value: unknown,
  schema: JSONSchemaProps | undefined,
  path: Path,
): FieldError[] {
  if (schema === undefined || typeof value !== "object" || value === null) return [];
  const errors: FieldError[] = [];
  if (Array.isArray(value)) {
    const items = itemsSchema(schema);
    errors.push(...duplicateItems(value, schema, path));
    for (const [i, item] of value.entries()) {
      errors.push(...validateListItems(item, items, path.index(i)));
    }
    return errors;
  }
  const { properties = {} } = schema;
  const additional = additionalSchema(schema);
  for (const [key, item] of Object.entries(value)) {
    if (Object.hasOwn(properties, key)) {
      errors.push(...validateListItems(item, properties[key], path.child(key)));
    } else if (additional !== undefined) {
      errors.push(...validateListItems(item, additional, path.key(key)));
    }
  }
  return errors;
}

function duplicateItems(
  items: readonly unknown[],
  schema: JSONSchemaProps,
  path: Path,
): FieldError[] {
  const type = schema["x-kubernetes-list-type"];
  if (type !== "set" && type !== "map") return [];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const counts = new Map<string, number>();
  const errors: FieldError[] = [];
  for (const [i, item] of items.entries()) {
    const shown = type === "set" ? item : keysOf(item, keys);
    const text = goMapJson(shown);
    const count = (counts.get(text) ?? 0) + 1;
    counts.set(text, count);
    if (count === 2) errors.push(duplicate(path.index(i), shown));
  }
  return errors;
}

function keysOf(item: unknown, keys: readonly string[]): unknown {
  if (typeof item !== "object" || item === null) return item;
  const members = item as Readonly<Record<string, unknown>>;
  const given = keys.filter((key) => Object.hasOwn(members, key));
  return Object.fromEntries(given.map((key) => [key, members[key]]));
}
