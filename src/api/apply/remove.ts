/** An object without the fields of a set. What loses all its parts becomes null. */
import { isObject, type JsonObject, setMember } from "#api/patch/json-value.ts";
import type { ListSchema, Schema } from "#api/schema/schema.ts";
import { type FieldSet, isEmptySet, isMember } from "./field-set.ts";
import { elementOf, memberSchema, ownershipOf } from "./typed-values.ts";

/** Lists and maps that are owned as one value lose everything if anything inside is in the set. */
export function removeFields(value: unknown, set: FieldSet, schema: Schema): unknown {
  if (Array.isArray(value)) {
    const owned = ownershipOf(value, schema) === "list" && value.length > 0;
    return owned ? removeItems(value, set, schema as ListSchema) : null;
  }
  if (isObject(value)) {
    return ownershipOf(value, schema) === "object" ? removeMembers(value, set, schema) : null;
  }
  return value;
}

function removeItems(items: readonly unknown[], set: FieldSet, list: ListSchema): unknown {
  const kept: unknown[] = [];
  for (const item of items) {
    const node = set[elementOf(item, list)];
    if (node === undefined) kept.push(item);
    else if (!isMember(node)) kept.push(removeFields(item, node, list.item));
  }
  return kept.length > 0 ? kept : null;
}

function removeMembers(object: JsonObject, set: FieldSet, schema: Schema): unknown {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(object)) {
    const node = set[`f:${name}`];
    if (node === undefined) setMember(kept, name, value);
    else if (!isMember(node))
      setMember(kept, name, removeFields(value, node, memberSchema(schema, name)));
  }
  return isEmptySet(kept as FieldSet) ? null : kept;
}
