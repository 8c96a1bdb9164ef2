/**
 * The set of fields that an object states: what the manager owns who applies it. A declared field
 * that is not one value is owned only through its parts; an entry of a map and an item of a list are
 * owned themselves too.
 */
import { isObject } from "#api/patch/json-value.ts";
import type { ListSchema, Schema } from "#api/schema/schema.ts";
import { asMember, EMPTY_SET, type FieldSet, isEmptySet, LEAF, ordered } from "./field-set.ts";
import {
  declaredField,
  elementOf,
  memberElement,
  memberSchema,
  ownershipOf,
} from "./typed-values.ts";

/** The object must be valid (`validate.ts`), apart from items that share their keys. */
export function fieldsOf(object: unknown, schema: Schema): FieldSet {
  return childrenOf(object, schema) ?? EMPTY_SET;
}

/** Undefined if the value itself is a member: a scalar, or something owned as one. */
function childrenOf(value: unknown, schema: Schema): FieldSet | undefined {
  switch (ownershipOf(value, schema)) {
    case "leaf":
      return undefined;
    case "list":
      return Array.isArray(value) ? itemsOf(value, schema as ListSchema) : EMPTY_SET;
    case "object":
      return isObject(value) ? membersOf(value, schema) : EMPTY_SET;
  }
}

function membersOf(object: Readonly<Record<string, unknown>>, schema: Schema): FieldSet {
  const node: Record<string, FieldSet> = {};
  for (const [name, value] of Object.entries(object)) {
    if (value === undefined) continue;
    const children = childrenOf(value, memberSchema(schema, name));
    const element = memberElement(schema, name);
    const empty = value === null || (isObject(value) && isEmptySet(value as FieldSet));
    if (children === undefined || empty) node[element] = LEAF;
    else if (declaredField(schema, name) === undefined) node[element] = asMember(children);
    else if (!isEmptySet(children)) node[element] = children;
  }
  return ordered(node);
}

function itemsOf(items: readonly unknown[], list: ListSchema): FieldSet {
  const node: Record<string, FieldSet> = {};
  for (const item of items) {
    const element = elementOf(item, list);
    const children = node[element] === undefined ? childrenOf(item, list.item) : undefined;
    const hollow = children === undefined || isEmptySet(children);
    node[element] = hollow ? LEAF : { ".": LEAF, ...children };
  }
  return ordered(node);
}
