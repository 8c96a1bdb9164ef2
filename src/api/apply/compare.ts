/**
 * What a write changed, as sets of fields.
 *
 * Promises:
 * 1. `changed` has what was added or has another value, `removed` what is gone. A field that is
 *    owned as one value counts once; of one that is not, the parts count, and the field itself only
 *    when it appears or disappears with them.
 * 2. Null and empty are values: a field that turns from absent to `{}` was added.
 * 3. Equal parts cost a walk and no memory; parts that are the same object cost nothing.
 */
import { isObject, type JsonObject, jsonEqual } from "#api/patch/json-value.ts";
import type { ListSchema, Schema, StructSchema } from "#api/schema/schema.ts";
import { EMPTY_SET, type FieldSet, LEAF } from "./field-set.ts";
import {
  checkedElement,
  isHollow,
  itemsByElement,
  memberElement,
  memberSchema,
  ownershipOf,
  ownMember,
  type RankedField,
  rankedFields,
} from "./typed-values.ts";

export interface Comparison {
  readonly changed: FieldSet;
  readonly removed: FieldSet;
}

/** Throws ItemError where a list's items cannot be told apart. */
export function compareObjects(before: JsonObject, after: JsonObject, schema: Schema): Comparison {
  const delta = new Delta();
  compareMembers(before, after, schema, delta);
  return { changed: delta.changed ?? EMPTY_SET, removed: delta.removed ?? EMPTY_SET };
}

/** Collects the two nodes of one place. */
class Delta {
  #changed: Record<string, FieldSet> | undefined;
  #removed: Record<string, FieldSet> | undefined;

  change(element: string, node: FieldSet): void {
    this.#changed ??= {};
    this.#changed[element] = node;
  }

  remove(element: string, node: FieldSet): void {
    this.#removed ??= {};
    this.#removed[element] = node;
  }

  /** Takes over what was found below an element. */
  take(element: string, { changed, removed }: Delta): void {
    if (changed !== undefined) this.change(element, changed);
    if (removed !== undefined) this.remove(element, removed);
  }

  get changed(): FieldSet | undefined {
    return this.#changed;
  }

  get removed(): FieldSet | undefined {
    return this.#removed;
  }
}

function compareMembers(before: JsonObject, after: JsonObject, schema: Schema, delta: Delta): void {
  const fields = schema.shape === "struct" ? rankedFields(schema).byName : undefined;
  const compare = (name: string, old: unknown, now: unknown): void => {
    const field = fields?.get(name);
    if (field === undefined) {
      compareValues(`f:${name}`, old, now, memberSchema(schema, name), delta);
    } else compareValues(field.element, old, now, field.schema, delta);
  };
  for (const name in after) {
    const old = ownMember(before, name);
    const now = after[name];
    if (old !== now) compare(name, old, now);
  }
  for (const name in before) {
    if (ownMember(after, name) === undefined) compare(name, before[name], undefined);
  }
}

/** Undefined means absent. */
function compareValues(
  element: string,
  before: unknown,
  after: unknown,
  schema: Schema,
  delta: Delta,
): void {
  if (before === undefined) {
    if (after !== undefined) delta.change(element, wholeNode(after, schema));
    return;
  }
  if (after === undefined) {
    delta.remove(element, wholeNode(before, schema));
    return;
  }
  // A null in free JSON may stand for an object.
  const ownership = ownershipOf(before === null ? after : before, schema);
  if (ownership !== ownershipOf(after === null ? before : after, schema)) {
    compareKinds(element, before, after, schema, delta);
  } else if (ownership === "leaf" || (isHollow(before) && isHollow(after))) {
    if (!jsonEqual(before, after)) delta.change(element, LEAF);
  } else if (ownership === "list") {
    const below = new Delta();
    compareItems(listOf(before), listOf(after), schema as ListSchema, below);
    delta.take(element, below);
  } else {
    const below = new Delta();
    compareMembers(objectOf(before), objectOf(after), schema, below);
    delta.take(element, below);
  }
}

/** Free JSON that turns from an object into something else or back. */
function compareKinds(
  element: string,
  before: unknown,
  after: unknown,
  schema: Schema,
  delta: Delta,
): void {
  const below = new Delta();
  compareMembers(objectOf(before), objectOf(after), schema, below);
  const { changed, removed } = below;
  if (removed !== undefined) delta.remove(element, removed);
  delta.change(element, changed === undefined ? LEAF : { ".": LEAF, ...changed });
}

function compareItems(
  before: readonly unknown[],
  after: readonly unknown[],
  list: ListSchema,
  delta: Delta,
): void {
  if (jsonEqual(before, after)) return;
  const [old, now] = [itemsByElement(before, list), itemsByElement(after, list)];
  for (const [element, items] of old) {
    compareItemGroups(element, items, now.get(element) ?? [], list.item, delta);
  }
  for (const [element, items] of now) {
    if (!old.has(element)) compareItemGroups(element, [], items, list.item, delta);
  }
}

/** Items that cannot be told apart are owned together, as one value. */
function compareItemGroups(
  element: string,
  before: readonly unknown[],
  after: readonly unknown[],
  schema: Schema,
  delta: Delta,
): void {
  const [one, other] = [before.length < 2, after.length < 2];
  if (one && other) {
    compareValues(element, before[0], after[0], schema, delta);
  } else if (!one && !other) {
    if (!jsonEqual(before, after)) delta.change(element, LEAF);
  } else if (other) {
    if (after.length > 0) delta.change(element, wholeNode(after[0], schema));
    delta.remove(element, LEAF);
  } else {
    if (before.length > 0) delta.remove(element, wholeNode(before[0], schema));
    delta.change(element, LEAF);
  }
}

/** All that belongs to a value that appears or disappears as a whole. Mostly in order already. */
function wholeNode(value: unknown, schema: Schema): FieldSet {
  const ownership = ownershipOf(value, schema);
  if (ownership === "leaf" || isHollow(value)) return LEAF;
  if (schema.shape === "struct" && !schema.preserveUnknown) {
    return structNode(value as JsonObject, schema);
  }
  const node: Record<string, FieldSet> = { ".": LEAF };
  if (ownership === "list") addItems(value as readonly unknown[], schema as ListSchema, node);
  else {
    const object = value as JsonObject;
    for (const name of Object.keys(object).sort()) {
      if (object[name] === undefined) continue;
      const element = memberElement(schema, name);
      node[element] = wholeNode(object[name], memberSchema(schema, name));
    }
  }
  return node;
}

function addItems(
  items: readonly unknown[],
  list: ListSchema,
  node: Record<string, FieldSet>,
): void {
  for (const [i, item] of items.entries()) {
    const element = checkedElement(item, i, list);
    node[element] = node[element] === undefined ? wholeNode(item, list.item) : LEAF;
  }
}

/**
 * Hot on creates. Sorts by rank while it reads, since objects have few of their type's fields, and
 * keeps the nodes of structs that hold nothing but values: ports, mounts and the like are many and
 * look alike.
 */
function structNode(object: JsonObject, schema: StructSchema): FieldSet {
  const { byName, plainNodes } = rankedFields(schema);
  const present: RankedField[] = [];
  let mask = 0;
  let plain = true;
  for (const name in object) {
    const value = object[name];
    const one = value === undefined ? undefined : byName.get(name);
    if (one === undefined) continue;
    if (one.rank < MASK_BITS && (one.isLeaf || isHollow(value))) mask |= 1 << one.rank;
    else plain = false;
    let at = present.length;
    while (at > 0 && present[at - 1]!.rank > one.rank) {
      present[at] = present[at - 1]!;
      at--;
    }
    present[at] = one;
  }
  const known = plain ? plainNodes.get(mask) : undefined;
  if (known !== undefined) return known;
  const node: Record<string, FieldSet> = { ".": LEAF };
  for (const { name, element, schema: type, isLeaf } of present) {
    node[element] = plain || isLeaf ? LEAF : wholeNode(object[name], type);
  }
  if (plain && plainNodes.size < PLAIN_NODES_MAX) plainNodes.set(mask, Object.freeze(node));
  return node;
}

const MASK_BITS = 31;
const PLAIN_NODES_MAX = 64;

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}
