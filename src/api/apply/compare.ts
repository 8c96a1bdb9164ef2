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
import type { ListSchema, Schema } from "#api/schema/schema.ts";
import { EMPTY_SET, type FieldSet, LEAF, ordered } from "./field-set.ts";
import { type LargeNodes, NO_LARGE_NODES } from "./large-nodes.ts";
import { mapNode } from "./map-nodes.ts";
import {
  MEMBER_BIT,
  NodeBuilder,
  plainNode,
  type RankedField,
  type RankedFields,
} from "./struct-nodes.ts";
import {
  checkedElement,
  isHollow,
  itemsByElement,
  memberElement,
  memberSchema,
  ownershipOf,
  ownMember,
  rankedFields,
} from "./typed-values.ts";

export interface Comparison {
  readonly changed: FieldSet;
  readonly removed: FieldSet;
}

/** Throws ItemError for list items without a usable key. */
export function compareObjects(
  before: JsonObject,
  after: JsonObject,
  schema: Schema,
  nodes = NO_LARGE_NODES,
): Comparison {
  const found = compareMembers(before, after, schema, nodes);
  return { changed: found?.changed ?? EMPTY_SET, removed: found?.removed ?? EMPTY_SET };
}

/** What is different at one place: nodes of the two sets. */
interface Difference {
  readonly changed: FieldSet | undefined;
  readonly removed: FieldSet | undefined;
}

const CHANGED: Difference = Object.freeze({ changed: LEAF, removed: undefined });

/** Collects the two nodes of one place. */
class Delta {
  readonly #ranked: RankedFields | undefined;
  #changed: NodeBuilder | undefined;
  #removed: NodeBuilder | undefined;

  constructor(ranked: RankedFields | undefined) {
    this.#ranked = ranked;
  }

  change(element: string, bit: number, node: FieldSet): void {
    this.#changed ??= new NodeBuilder(this.#ranked);
    this.#changed.add(element, bit, node);
  }

  /** Takes over what was found below an element. */
  add(element: string, bit: number, { changed, removed }: Difference): void {
    if (changed !== undefined) this.change(element, bit, changed);
    if (removed === undefined) return;
    this.#removed ??= new NodeBuilder(this.#ranked);
    this.#removed.add(element, bit, removed);
  }

  finish(): Difference {
    return { changed: this.#changed?.finish(), removed: this.#removed?.finish() };
  }
}

function compareMembers(
  before: JsonObject,
  after: JsonObject,
  schema: Schema,
  nodes: LargeNodes,
): Difference | undefined {
  const ranked = schema.shape === "struct" ? rankedFields(schema) : undefined;
  let delta: Delta | undefined;
  for (const name in after) {
    const old = ownMember(before, name);
    const now = after[name];
    if (old === now || now === undefined) continue;
    const { element, bit, schema: type } = ranked?.byName.get(name) ?? unranked(schema, name);
    if (old === undefined) {
      // Hot on creates: what appears is not compared with anything.
      delta ??= new Delta(ranked);
      delta.change(element, bit, wholeNode(now, type, nodes));
      continue;
    }
    const found = compareValues(old, now, type, nodes);
    if (found === undefined) continue;
    delta ??= new Delta(ranked);
    delta.add(element, bit, found);
  }
  for (const name in before) {
    if (before[name] === undefined || ownMember(after, name) !== undefined) continue;
    const { element, bit, schema: type } = ranked?.byName.get(name) ?? unranked(schema, name);
    delta ??= new Delta(ranked);
    delta.add(element, bit, { changed: undefined, removed: wholeNode(before[name], type, nodes) });
  }
  return delta?.finish();
}

/** A member that its type does not declare, or an entry of a map. */
function unranked(schema: Schema, name: string): Pick<RankedField, "element" | "bit" | "schema"> {
  return { element: `f:${name}`, bit: 0, schema: memberSchema(schema, name) };
}

/** Undefined values are absent; the result is undefined if there is no difference. */
function compareValues(
  before: unknown,
  after: unknown,
  schema: Schema,
  nodes: LargeNodes,
): Difference | undefined {
  if (before === undefined) {
    if (after === undefined) return undefined;
    return { changed: wholeNode(after, schema, nodes), removed: undefined };
  }
  if (after === undefined) return { changed: undefined, removed: wholeNode(before, schema, nodes) };
  // A null in free JSON may stand for an object.
  const ownership = ownershipOf(before === null ? after : before, schema);
  if (ownership !== ownershipOf(after === null ? before : after, schema)) {
    return compareKinds(before, after, schema, nodes);
  }
  if (ownership === "leaf" || (isHollow(before) && isHollow(after))) {
    return jsonEqual(before, after) ? undefined : CHANGED;
  }
  return ownership === "list"
    ? compareItems(listOf(before), listOf(after), schema as ListSchema, nodes)
    : compareMembers(objectOf(before), objectOf(after), schema, nodes);
}

/** Free JSON that turns from an object into something else or back. */
function compareKinds(
  before: unknown,
  after: unknown,
  schema: Schema,
  nodes: LargeNodes,
): Difference {
  const below = compareMembers(objectOf(before), objectOf(after), schema, nodes);
  const changed = below?.changed === undefined ? LEAF : { ".": LEAF, ...below.changed };
  return { changed, removed: below?.removed };
}

function compareItems(
  before: readonly unknown[],
  after: readonly unknown[],
  list: ListSchema,
  nodes: LargeNodes,
): Difference | undefined {
  if (jsonEqual(before, after)) return undefined;
  if (before.length === 0)
    return { changed: withItems({}, after, list, nodes), removed: undefined };
  const delta = new Delta(undefined);
  const old = itemsByElement(before, list);
  const now = nodes.get(after)?.groups ?? itemsByElement(after, list);
  const compare = (element: string, was: readonly unknown[], is: readonly unknown[]): void => {
    const found = compareItemGroups(was, is, list.item, nodes);
    if (found !== undefined) delta.add(element, 0, found);
  };
  for (const [element, items] of old) compare(element, items, now.get(element) ?? []);
  for (const [element, items] of now) if (!old.has(element)) compare(element, [], items);
  return delta.finish();
}

/** Items with the same key are owned together, as one value. */
function compareItemGroups(
  before: readonly unknown[],
  after: readonly unknown[],
  schema: Schema,
  nodes: LargeNodes,
): Difference | undefined {
  const [one, other] = [before.length < 2, after.length < 2];
  if (one && other) return compareValues(before[0], after[0], schema, nodes);
  if (!one && !other) return jsonEqual(before, after) ? undefined : CHANGED;
  const whole = (items: readonly unknown[]): FieldSet | undefined =>
    items.length > 0 ? wholeNode(items[0], schema, nodes) : undefined;
  return other
    ? { changed: whole(after), removed: LEAF }
    : { changed: LEAF, removed: whole(before) };
}

/** All that belongs to a value that appears or disappears as a whole. */
function wholeNode(value: unknown, schema: Schema, nodes: LargeNodes): FieldSet {
  const ownership = ownershipOf(value, schema);
  if (ownership === "leaf" || value === null) return LEAF;
  const large = nodes.get(value as object)?.member;
  if (large !== undefined) return large;
  // Whether a large map is empty is as costly to find out as all of its keys.
  if (schema.shape === "map" && schema.value.shape === "scalar") {
    return mapNode(value as JsonObject, true);
  }
  if (isHollow(value)) return LEAF;
  if (ownership === "list") {
    return withItems({ ".": LEAF }, value as readonly unknown[], schema as ListSchema, nodes);
  }
  const object = value as JsonObject;
  if (schema.shape === "struct" && !schema.preserveUnknown) {
    const ranked = rankedFields(schema);
    if (ranked.isNarrow) return wholeStruct(object, ranked, nodes);
  }
  const node: Record<string, FieldSet> = { ".": LEAF };
  for (const name in object) {
    if (object[name] === undefined) continue;
    node[memberElement(schema, name)] = wholeNode(object[name], memberSchema(schema, name), nodes);
  }
  return ordered(node);
}

/** The node with all items of a list that was not there or empty. It belongs to the callee. */
function withItems(
  node: Record<string, FieldSet>,
  items: readonly unknown[],
  list: ListSchema,
  nodes: LargeNodes,
): FieldSet {
  for (let i = 0; i < items.length; i++) {
    const element = checkedElement(items[i], i, list);
    node[element] = node[element] === undefined ? wholeNode(items[i], list.item, nodes) : LEAF;
  }
  return ordered(node);
}

/** Hot on creates. */
function wholeStruct(object: JsonObject, ranked: RankedFields, nodes: LargeNodes): FieldSet {
  let bits = MEMBER_BIT;
  let inner: RankedField[] | undefined;
  for (const name in object) {
    const value = object[name];
    const field = value === undefined ? undefined : ranked.byName.get(name);
    if (field === undefined) continue;
    bits += field.bit;
    if (field.isLeaf || isHollow(value)) continue;
    inner ??= [];
    inner.push(field);
  }
  const plain = plainNode(ranked, bits);
  if (inner === undefined) return plain.frozen;
  const node: Record<string, FieldSet> = { ...plain.open };
  for (const { name, element, schema } of inner) {
    node[element] = wholeNode(object[name], schema, nodes);
  }
  return node;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}
