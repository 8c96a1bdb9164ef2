/**
 * Nodes of maps and lists with very many scalars, made in steps before they are asked for: made at once, one
 * of 60,000 entries takes longer than a request of another client should wait.
 *
 * A node counts only until `[Symbol.dispose]`, because objects may change afterwards.
 */
import { isObject, type JsonObject } from "#api/patch/json-value.ts";
import type { ListSchema, Schema } from "#api/schema/schema.ts";
import type { Steps } from "#lib/async/steps.ts";
import { type FieldSet, LEAF, sortElements } from "./field-set.ts";
import { elementOf, ItemError } from "./typed-values.ts";

/** Fewer entries take about a millisecond. */
const ENTRIES_MIN = 4_096;
const ENTRIES_PER_STEP = 4_096;

interface LargeNode {
  /** The entries. */
  readonly entries: FieldSet;
  /** The same as a member of its set. */
  readonly member: FieldSet;
}

const made = new WeakMap<object, LargeNode>();

export function largeNode(value: object, isMember: boolean): FieldSet | undefined {
  const node = made.get(value);
  return isMember ? node?.member : node?.entries;
}

export function* prepareLargeNodes(object: JsonObject, schema: Schema): Steps<Disposable> {
  const prepared: object[] = [];
  yield* prepareValue(object, schema, prepared);
  return {
    [Symbol.dispose]: () => {
      for (const value of prepared) made.delete(value);
    },
  };
}

function* prepareValue(value: unknown, schema: Schema, prepared: object[]): Steps<void> {
  if (schema.shape === "struct" && isObject(value)) {
    for (const { name, schema: type } of schema.fields) {
      const member = value[name];
      if (typeof member === "object") yield* prepareValue(member, type, prepared);
    }
  } else if (schema.shape === "map" && schema.value.shape === "scalar" && isObject(value)) {
    const names = Object.keys(value);
    if (names.length < ENTRIES_MIN) return;
    const stated = names.filter((name) => value[name] !== undefined);
    yield* prepareNode(value, (i) => `f:${stated[i]}`, stated.length);
    prepared.push(value);
  } else if (isLargeSet(value, schema)) {
    const isPrepared = yield* prepareItems(value, schema as ListSchema);
    if (isPrepared) prepared.push(value);
  }
}

function isLargeSet(value: unknown, schema: Schema): value is readonly unknown[] {
  if (schema.shape !== "list" || schema.listType !== "set") return false;
  return schema.item.shape === "scalar" && Array.isArray(value) && value.length >= ENTRIES_MIN;
}

/** False for items that have no node: who asks for it reports that. */
function* prepareItems(items: readonly unknown[], list: ListSchema): Steps<boolean> {
  try {
    yield* prepareNode(items, (i) => elementOf(items[i], list), items.length);
    return true;
  } catch (error) {
    if (error instanceof ItemError) return false;
    throw error;
  }
}

function* prepareNode(
  value: object,
  elementAt: (index: number) => string,
  count: number,
): Steps<void> {
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
  made.set(value, { entries, member });
}
