/** What the schema says about a value for the purposes of ownership. */
import { isObject, type JsonObject } from "#api/patch/json-value.ts";
import type { AnySchema, Field, ListSchema, Schema, StructSchema } from "#api/schema/schema.ts";
import { finish, type Steps } from "#lib/async/steps.ts";
import { keyElement, valueElement } from "./path-element.ts";
import { type RankedFields, rankFields } from "./struct-nodes.ts";

/** Free JSON: objects are owned member by member, lists as one value. */
const ANY: AnySchema = Object.freeze({ shape: "any", goType: "interface {}" });

/** How a value is owned: as one, member by member, or item by item. */
export type Ownership = "leaf" | "object" | "list";

export function ownershipOf(value: unknown, schema: Schema): Ownership {
  switch (schema.shape) {
    case "scalar":
      return "leaf";
    case "list":
      return schema.listType === "atomic" ? "leaf" : "list";
    case "struct":
    case "map":
      return schema.atomic ? "leaf" : "object";
    case "any":
      return isObject(value) ? "object" : "leaf";
  }
}

/** The member's field, if the type declares it. */
export function declaredField(schema: Schema, name: string): Field | undefined {
  return schema.shape === "struct" ? schema.byName.get(name) : undefined;
}

export function memberSchema(schema: Schema, name: string): Schema {
  if (schema.shape === "map") return schema.value;
  return declaredField(schema, name)?.schema ?? ANY;
}

/** The path element of a member. Those of fields are kept: making a key of a text costs. */
export function memberElement(schema: Schema, name: string): string {
  if (schema.shape !== "struct") return `f:${name}`;
  return rankedFields(schema).byName.get(name)?.element ?? `f:${name}`;
}

export function rankedFields(schema: StructSchema): RankedFields {
  let ranked = rankedFieldsOf.get(schema.fields);
  if (ranked === undefined) {
    ranked = rankFields(schema, isAlwaysLeaf);
    rankedFieldsOf.set(schema.fields, ranked);
  }
  return ranked;
}

function isAlwaysLeaf(schema: Schema): boolean {
  return schema.shape !== "any" && ownershipOf(undefined, schema) === "leaf";
}

// Memory of pure results.
const rankedFieldsOf = new WeakMap<readonly Field[], RankedFields>();

export function itemSchema(schema: Schema): Schema {
  return schema.shape === "list" ? schema.item : ANY;
}

/** Whether there is nothing inside: null, {}, []. */
export function isHollow(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value === null || value === undefined;
  for (const _ in value) return false;
  return true;
}

/** A list item has no unique key. */
export class ItemError extends Error {}

/** The path element of a list's item. */
export function elementOf(item: unknown, list: ListSchema): string {
  return list.keys.length === 0 ? setElement(item) : keyedElement(item, list);
}

function setElement(item: unknown): string {
  if (item === null || item === undefined) {
    throw new ItemError("associative list without keys has an element that's an explicit null");
  }
  if (Array.isArray(item)) {
    throw new ItemError("not supported: associative list with lists as elements");
  }
  if (typeof item === "object") {
    throw new ItemError("associative list without keys has an element that's a map type");
  }
  return valueElement(item);
}

function keyedElement(item: unknown, list: ListSchema): string {
  if (item === null || item === undefined) {
    throw new ItemError("associative list with keys may not have a null element");
  }
  if (!isObject(item)) {
    throw new ItemError("associative list with keys may not have non-map elements");
  }
  const entries: [string, unknown][] = [];
  for (const name of list.keys.length === 1 ? list.keys : [...list.keys].sort()) {
    const value = Object.hasOwn(item, name) ? item[name] : keyDefault(list, name);
    if (value !== undefined) entries.push([name, value]);
  }
  if (entries.length > 0) return keyElement(entries);
  const names = list.keys.map((name) => `"${name}"`).join(" ");
  throw new ItemError(
    `associative list with keys has an element that omits all key fields [${names}] ` +
      "(and doesn't have default values for any key fields)",
  );
}

/** A key field that is left out counts with its default; one that is always written with its zero. */
function keyDefault(list: ListSchema, name: string): unknown {
  const field = declaredField(list.item, name);
  if (field === undefined || field.default !== undefined) return field?.default;
  if (field.omitEmpty || field.omitZero || field.pointer) return undefined;
  if (field.schema.shape !== "scalar") return undefined;
  switch (field.schema.scalar) {
    case "bool":
      return false;
    case "int":
    case "int32":
    case "int64":
    case "float64":
      return 0;
    default:
      return "";
  }
}

/** Items by path element; those that share one are kept together. */
export type ItemGroups = ReadonlyMap<string, readonly unknown[]>;

export function itemsByElement(items: readonly unknown[], list: ListSchema): ItemGroups {
  return finish(itemGroupSteps(items, list));
}

const ITEMS_PER_STEP = 1_024;

/** The same in steps: there may be thousands of items. */
export function* itemGroupSteps(items: readonly unknown[], list: ListSchema): Steps<ItemGroups> {
  const groups = new Map<string, unknown[]>();
  for (const [i, item] of items.entries()) {
    if ((i + 1) % ITEMS_PER_STEP === 0) yield;
    const element = checkedElement(item, i, list);
    const group = groups.get(element);
    if (group === undefined) groups.set(element, [item]);
    else group.push(item);
  }
  return groups;
}

/** As `elementOf`, and an error names the item. */
export function checkedElement(item: unknown, index: number, list: ListSchema): string {
  try {
    return elementOf(item, list);
  } catch (error) {
    if (error instanceof ItemError) throw new ItemError(`element ${index}: ${error.message}`);
    throw error;
  }
}

/** The object's own member: keys of maps may be any word. */
export function ownMember(object: JsonObject, name: string): unknown {
  const value = object[name];
  if (typeof value !== "function" && name !== "__proto__") return value;
  return Object.hasOwn(object, name) ? value : undefined;
}
