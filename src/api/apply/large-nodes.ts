/**
 * What a comparison needs of maps and lists with very many entries, made in steps before: made at once, the
 * node of a map of 60,000 entries takes longer than a request of another client should wait.
 */
import { isObject, type JsonObject } from "#api/patch/json-value.ts";
import type { ListSchema, Schema } from "#api/schema/schema.ts";
import type { Steps } from "#lib/async/steps.ts";
import { type FieldSet, LEAF, sortElements } from "./field-set.ts";
import { elementOf, ItemError, type ItemGroups, itemGroupSteps } from "./typed-values.ts";

/** Fewer entries take about a millisecond. */
const ENTRIES_MIN = 4_096;
const ENTRIES_PER_STEP = 4_096;

/** Fewer items with keys take about a millisecond. */
const ITEMS_MIN = 512;

interface LargeNode {
  /** Of a map or list of scalars: its entries. */
  readonly entries?: FieldSet;
  /** The same as a member of its set. */
  readonly member?: FieldSet;
  /** Of a list of items with keys. */
  readonly groups?: ItemGroups;
}

/** By the map or list in the object, which must not change as long as they are used. */
export type LargeNodes = ReadonlyMap<object, LargeNode>;

export const NO_LARGE_NODES: LargeNodes = new Map();

export function* largeNodesOf(object: JsonObject, schema: Schema): Steps<LargeNodes> {
  const nodes = new Map<object, LargeNode>();
  yield* addNodes(object, schema, nodes);
  return nodes;
}

function* addNodes(value: unknown, schema: Schema, nodes: Map<object, LargeNode>): Steps<void> {
  if (schema.shape === "struct" && isObject(value)) {
    for (const { name, schema: type } of schema.fields) {
      const member = value[name];
      if (typeof member === "object") yield* addNodes(member, type, nodes);
    }
  } else if (schema.shape === "map" && schema.value.shape === "scalar" && isObject(value)) {
    const names = Object.keys(value);
    if (names.length < ENTRIES_MIN) return;
    const stated = names.filter((name) => value[name] !== undefined);
    nodes.set(value, yield* makeNode((i) => `f:${stated[i]}`, stated.length));
  } else if (isLargeSet(value, schema)) {
    const node = yield* ofSoundItems(setNode(value, schema as ListSchema));
    if (node !== undefined) nodes.set(value, node);
  } else if (isLargeKeyedList(value, schema)) {
    const groups = yield* ofSoundItems(itemGroupSteps(value, schema as ListSchema));
    if (groups !== undefined) nodes.set(value, { groups });
  }
}

function isLargeSet(value: unknown, schema: Schema): value is readonly unknown[] {
  if (schema.shape !== "list" || schema.listType !== "set") return false;
  return schema.item.shape === "scalar" && Array.isArray(value) && value.length >= ENTRIES_MIN;
}

function isLargeKeyedList(value: unknown, schema: Schema): value is readonly unknown[] {
  if (schema.shape !== "list" || schema.listType !== "map") return false;
  return Array.isArray(value) && value.length >= ITEMS_MIN;
}

/** Undefined for items without a usable key: the comparison reports them. */
function* ofSoundItems<T>(steps: Steps<T>): Steps<T | undefined> {
  try {
    return yield* steps;
  } catch (error) {
    if (error instanceof ItemError) return undefined;
    throw error;
  }
}

function setNode(items: readonly unknown[], list: ListSchema): Steps<LargeNode> {
  return makeNode((i) => elementOf(items[i], list), items.length);
}

function* makeNode(elementAt: (index: number) => string, count: number): Steps<LargeNode> {
  const elements: string[] = [];
  for (let i = 0; i < count; i++) {
    elements.push(elementAt(i));
    if (i % ENTRIES_PER_STEP === 0) yield;
  }
  sortElements(elements);
  yield;
  const entries: Record<string, FieldSet> = {};
  const member: Record<string, FieldSet> = { ".": LEAF };
  for (const [i, element] of elements.entries()) {
    entries[element] = LEAF;
    member[element] = LEAF;
    if (i % ENTRIES_PER_STEP === 0) yield;
  }
  return { entries, member };
}
