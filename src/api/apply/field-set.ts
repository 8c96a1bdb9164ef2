/**
 * Sets of fields in the form in which managedFields shows them (FieldsV1):
 *
 *     { "f:spec": { "f:ports": { ".": {}, "k:{\"port\":80}": {} } } }
 *
 * The keys are path elements. A node without keys is a member of the set; one with keys is a member
 * only if it says so with `.`. The root is no field, so an empty root is the empty set.
 *
 * Promises:
 * 1. Sets are never changed; a result shares the nodes that stay as they were, and is the left
 *    argument itself if nothing changed. So the owner of unchanged fields costs nothing to store.
 * 2. Keys stand in the order of `compareElements`, which is how they are written.
 */
import type { JsonObject } from "#api/patch/json-value.ts";
import { canonicalElement, compareElements } from "./path-element.ts";

export interface FieldSet {
  readonly [element: string]: FieldSet;
}

export const LEAF: FieldSet = Object.freeze({});
export const EMPTY_SET: FieldSet = Object.freeze({});

export function isEmptySet(set: FieldSet): boolean {
  for (const _ in set) return false;
  return true;
}

export function isMember(node: FieldSet): boolean {
  return node["."] !== undefined || isEmptySet(node);
}

/** The same node as a member of its set. */
export function asMember(node: FieldSet): FieldSet {
  return isMember(node) ? node : { ".": LEAF, ...node };
}

/** A set of plain members: `fieldSet(["metadata", "name"], ["kind"])`. */
export function fieldSet(...paths: readonly (readonly string[])[]): FieldSet {
  return paths.reduce<FieldSet>((set, path) => {
    const single = path.reduceRight<FieldSet>((node, name) => ({ [`f:${name}`]: node }), LEAF);
    return union(set, single);
  }, EMPTY_SET);
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(a)) return b;
  return isEmptySet(b) ? a : unionNodes(a, b);
}

/** All at once: there may be a thousand sets. */
export function unionAll(sets: readonly FieldSet[]): FieldSet {
  const stated = sets.filter((set) => !isEmptySet(set));
  return stated.length === 0 ? EMPTY_SET : unionOfNodes(stated);
}

function unionOfNodes(nodes: readonly FieldSet[]): FieldSet {
  if (nodes.length <= 2) return nodes.length === 2 ? unionNodes(nodes[0]!, nodes[1]!) : nodes[0]!;
  const below = new Map<string, FieldSet[]>();
  for (const node of nodes) {
    for (const key in node) {
      const known = below.get(key);
      if (known === undefined) below.set(key, [node[key]!]);
      else known.push(node[key]!);
    }
  }
  if (below.size === 0) return LEAF;
  const result: Record<string, FieldSet> = {};
  if (nodes.some(isMember)) result["."] = LEAF;
  for (const [key, children] of below) if (key !== ".") result[key] = unionOfNodes(children);
  return ordered(result);
}

/** Members of `a` that are not members of `b`, each on its own: what lies below a member stays. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  return isEmptySet(b) ? a : (differenceChildren(a, b, false) ?? EMPTY_SET);
}

/** As `difference`, but what lies below a member of `b` goes too. */
export function differenceBelow(a: FieldSet, b: FieldSet): FieldSet {
  return isEmptySet(b) ? a : (differenceChildren(a, b, true) ?? EMPTY_SET);
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(a) || isEmptySet(b)) return EMPTY_SET;
  return intersectChildren(a, b) ?? EMPTY_SET;
}

export function hasPath(set: FieldSet, path: readonly string[]): boolean {
  let node: FieldSet | undefined = set;
  for (const element of path) {
    node = node[element];
    if (node === undefined) return false;
  }
  return path.length > 0 && isMember(node);
}

/** Paths of all members: those of a node before those below it. */
export function* pathsOf(
  set: FieldSet,
  prefix: readonly string[] = [],
): Generator<readonly string[]> {
  const children = Object.entries(set).filter(([element]) => element !== ".");
  for (const [element, node] of children) if (isMember(node)) yield [...prefix, element];
  for (const [element, node] of children) {
    if (!isEmptySet(node)) yield* pathsOf(node, [...prefix, element]);
  }
}

/** The node with its keys in order; what is below them is taken to be. */
export function ordered(node: FieldSet): FieldSet {
  let last: string | undefined;
  for (const key in node) {
    if (last !== undefined && !isBefore(last, key)) return sorted(node);
    last = key;
  }
  return node;
}

function sorted(node: FieldSet): FieldSet {
  const result: Record<string, FieldSet> = {};
  const keys = Object.keys(node);
  sortElements(keys);
  for (const key of keys) result[key] = node[key]!;
  return result;
}

/** In place. */
export function sortElements(elements: string[]): void {
  // The order of texts is much faster to find, and there may be tens of thousands.
  if (elements.every(sortsAsText)) elements.sort();
  else elements.sort(compareElements);
}

/** Members and plain values: the ranks `.`, `f`, `v` are in the order of their letters. */
function sortsAsText(element: string): boolean {
  const first = element.charCodeAt(0);
  return first === MEMBER || element === "." || PLAIN_VALUE.test(element);
}

/** A text in which no character sorts before the closing quote. */
const PLAIN_VALUE = /^v:"[\w./:@-]*"$/;

/** Most steps are members, and most of these in order. */
function isBefore(a: string, b: string): boolean {
  const members = a.charCodeAt(0) === MEMBER && b.charCodeAt(0) === MEMBER;
  return members ? a < b : compareElements(a, b) < 0;
}

const MEMBER = "f".charCodeAt(0);

/** The set as it is written. */
export function encodeFieldSet(set: FieldSet): JsonObject {
  ownSets.add(set);
  return set;
}

/** Decodes fieldsV1 of a client, dropping unknown path elements; throws if it is no set at all. */
export function decodeFieldSet(json: unknown): FieldSet {
  if (json === undefined || json === null) return EMPTY_SET;
  if (ownSets.has(json)) return json as FieldSet;
  const decoded = decodeNode(json, 0);
  const set = decoded["."] === undefined ? decoded : withoutSelf(decoded);
  ownSets.add(set);
  return set;
}

const DEPTH_MAX = 10_000;

// Memory of pure results: sets that are known to be right need no second look.
const ownSets = new WeakSet<object>();

function decodeNode(json: unknown, depth: number): FieldSet {
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw new Error("a set of fields must be an object");
  }
  if (json === LEAF) return LEAF;
  if (depth > DEPTH_MAX) throw new Error("a set of fields must not be that deep");
  const node: Record<string, FieldSet> = {};
  let same = true;
  for (const [key, value] of Object.entries(json)) {
    const element = key === "." ? key : canonicalElement(key);
    const child = decodeNode(key === "." ? LEAF : value, depth + 1);
    if (element !== undefined) node[element] = child;
    const plain = key === "." ? isEmptySet(value) : child === value;
    if (element !== key || !plain) same = false;
  }
  if (node["."] !== undefined && Object.keys(node).length === 1) return LEAF;
  return ordered(same ? (json as FieldSet) : node);
}

function unionNodes(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a;
  if (isEmptySet(b)) return asMember(a);
  if (isEmptySet(a)) return asMember(b);
  let result: Record<string, FieldSet> | undefined;
  for (const key in b) {
    const mine = a[key];
    const merged = mine === undefined ? b[key]! : key === "." ? mine : unionNodes(mine, b[key]!);
    if (merged === mine) continue;
    result ??= { ...a };
    result[key] = merged;
  }
  return result === undefined ? a : ordered(result);
}

/** Undefined if nothing is left. */
function differenceNodes(a: FieldSet, b: FieldSet, below: boolean): FieldSet | undefined {
  if (below && isMember(b)) return undefined;
  const member = isMember(a) && !isMember(b);
  const children = differenceChildren(a, b, below);
  if (children === undefined) return member ? LEAF : undefined;
  if (member) return children["."] === undefined ? { ".": LEAF, ...children } : children;
  if (children["."] === undefined) return children;
  const rest = withoutSelf(children);
  return isEmptySet(rest) ? undefined : rest;
}

/** `a` itself if it loses nothing, undefined if it has no child left. `.` is kept as it is. */
function differenceChildren(a: FieldSet, b: FieldSet, below: boolean): FieldSet | undefined {
  let result: Record<string, FieldSet> | undefined;
  let left = 0;
  for (const key in a) {
    const mine = a[key]!;
    const other = key === "." ? undefined : b[key];
    const rest = other === undefined ? mine : differenceNodes(mine, other, below);
    if (rest !== mine) result ??= childrenBefore(a, key);
    if (rest === undefined) continue;
    if (key !== ".") left++;
    if (result !== undefined) result[key] = rest;
  }
  return left === 0 ? undefined : (result ?? a);
}

// Built up, since an object that something was deleted from is slow for good.
function childrenBefore(node: FieldSet, end: string): Record<string, FieldSet> {
  const children: Record<string, FieldSet> = {};
  for (const key in node) {
    if (key === end) break;
    children[key] = node[key]!;
  }
  return children;
}

function withoutSelf(node: FieldSet): FieldSet {
  const children: Record<string, FieldSet> = {};
  for (const key in node) if (key !== ".") children[key] = node[key]!;
  return children;
}

function intersectChildren(a: FieldSet, b: FieldSet): FieldSet | undefined {
  const result: Record<string, FieldSet> = {};
  let found = false;
  for (const key in a) {
    const other = b[key];
    if (key === "." || other === undefined) continue;
    const mine = a[key]!;
    const children = intersectChildren(mine, other);
    const member = isMember(mine) && isMember(other);
    if (!member && children === undefined) continue;
    result[key] = children === undefined ? LEAF : member ? { ".": LEAF, ...children } : children;
    found = true;
  }
  return found ? result : undefined;
}
