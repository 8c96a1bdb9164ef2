/**
 * The set of fields that an object states: what the manager owns who applies it. A declared field
 * that is not one value is owned only through its parts; an entry of a map and an item of a list are
 * owned themselves too.
 */
import { isObject, type JsonObject } from "#api/patch/json-value.ts";
import type { ListSchema, Schema } from "#api/schema/schema.ts";
import { asMember, EMPTY_SET, type FieldSet, isEmptySet, LEAF, ordered } from "./field-set.ts";
import { type LargeNodes, NO_LARGE_NODES } from "./large-nodes.ts";
import { mapNode } from "./map-nodes.ts";
import { NodeBuilder } from "./struct-nodes.ts";
import { elementOf, memberSchema, ownershipOf, rankedFields } from "./typed-values.ts";

/** The object must be valid (`validate.ts`), apart from items that share their keys. */
export function fieldsOf(object: unknown, schema: Schema, nodes = NO_LARGE_NODES): FieldSet {
  return childrenOf(object, schema, nodes) ?? EMPTY_SET;
}

/** Undefined if the value itself is a member: a scalar, or something owned as one. */
function childrenOf(value: unknown, schema: Schema, nodes: LargeNodes): FieldSet | undefined {
  switch (ownershipOf(value, schema)) {
    case "leaf":
      return undefined;
    case "list":
      return Array.isArray(value) ? itemsOf(value, schema as ListSchema, nodes) : EMPTY_SET;
    case "object":
      return isObject(value) ? membersOf(value, schema, nodes) : EMPTY_SET;
  }
}

function membersOf(object: JsonObject, schema: Schema, nodes: LargeNodes): FieldSet {
  // Maps of scalars may have tens of thousands of entries.
  if (schema.shape === "map" && schema.value.shape === "scalar") {
    return nodes.get(object)?.entries ?? mapNode(object, false);
  }
  const ranked = schema.shape === "struct" ? rankedFields(schema) : undefined;
  const node = new NodeBuilder(ranked);
  for (const name in object) {
    const value = object[name];
    if (value === undefined) continue;
    const field = ranked?.byName.get(name);
    const children = childrenOf(value, field?.schema ?? memberSchema(schema, name), nodes);
    const isBare = children === undefined || isEmptySet(children);
    const empty = isBare && (value === null || (isObject(value) && isEmptySet(value as FieldSet)));
    if (children === undefined || empty)
      node.add(field?.element ?? `f:${name}`, field?.bit ?? 0, LEAF);
    else if (field === undefined) node.add(`f:${name}`, 0, asMember(children));
    else if (!isBare) node.add(field.element, field.bit, children);
  }
  return node.finish() ?? EMPTY_SET;
}

function itemsOf(items: readonly unknown[], list: ListSchema, nodes: LargeNodes): FieldSet {
  const large = nodes.get(items)?.entries;
  if (large !== undefined) return large;
  const node: Record<string, FieldSet> = {};
  for (const item of items) {
    const element = elementOf(item, list);
    const children = node[element] === undefined ? childrenOf(item, list.item, nodes) : undefined;
    const hollow = children === undefined || isEmptySet(children);
    node[element] = hollow ? LEAF : { ".": LEAF, ...children };
  }
  return ordered(node);
}
