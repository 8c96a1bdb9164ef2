/** Lists in a strategic merge patch: what they may hold, and the order of a merged one. */
import { goFormat } from "#api/meta/go-format.ts";
import { isObject, type JsonObject, member } from "./json-value.ts";

/** An error of a strategic merge patch: a bad request, an unprocessable one, or a failure. */
export class StrategicPatchError extends Error {
  readonly fault: "bad-request" | "unprocessable" | "unknown";

  constructor(fault: "bad-request" | "unprocessable" | "unknown", message: string) {
    super(message);
    this.fault = fault;
  }
}

export function noMergeKey(item: JsonObject, mergeKey: string): StrategicPatchError {
  const message = `map: ${goFormat(item)} does not contain declared merge key: ${mergeKey}`;
  return new StrategicPatchError("unknown", message);
}

export function requireList(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw wrongType("[]interface {}", value);
}

/** The one type that all items have; undefined if there are none. */
export function requireUniform(lists: readonly (readonly unknown[])[]): "map" | "scalar" {
  let type: string | undefined;
  for (const list of lists) {
    for (const item of list) {
      const itemType = goType(item);
      if (Array.isArray(item)) {
        throw new StrategicPatchError("unprocessable", "lists of lists are not supported");
      }
      if (type !== undefined && type !== itemType) {
        const message = `list element types are not identical: ${goFormat(lists)}`;
        throw new StrategicPatchError("unknown", message);
      }
      type = itemType;
    }
  }
  if (type === undefined) {
    throw new StrategicPatchError("unknown", "no elements in any of the given slices");
  }
  return type === MAP_TYPE ? "map" : "scalar";
}

/** Each value once: the original's, then the patch's, in the order that `orderMerged` gives. */
export function mergeScalars(
  original: readonly unknown[],
  patch: readonly unknown[],
): readonly unknown[] {
  return orderMerged([...new Set([...original, ...patch])], patch, original, "");
}

/**
 * Sorts a merged list. Items that `wanted` names stand in its order, the others in the order of
 * the original; an other comes before a wanted item only if both are in the original that way.
 */
export function orderMerged(
  merged: readonly unknown[],
  wanted: readonly unknown[],
  original: readonly unknown[],
  mergeKey: string,
): readonly unknown[] {
  const key = keyReader(mergeKey);
  const wantedPlaces = placesOf(wanted, key);
  const originalPlaces = placesOf(original, key);
  const named = merged.filter((item) => wantedPlaces.has(key(item)));
  const others = merged.filter((item) => !wantedPlaces.has(key(item)));
  sortByPlace(named, wantedPlaces, key);
  sortByPlace(others, originalPlaces, key);

  const sorted: unknown[] = [];
  let next = 0;
  for (const item of named) {
    const place = originalPlaces.get(key(item)) ?? -1;
    while (next < others.length && isBefore(originalPlaces.get(key(others[next])), place)) {
      sorted.push(others[next++]);
    }
    sorted.push(item);
  }
  return [...sorted, ...others.slice(next)];
}

/** A patch list must not contradict its own `$setElementOrder`. */
export function checkOrder(
  patch: readonly unknown[],
  order: readonly unknown[],
  mergeKey: string,
): void {
  if (patch.length === 0 || order.length === 0) return;
  const key = keyReader(mergeKey);
  const kept = mergeKey === "" ? patch : patch.filter((item) => !isDirective(item));
  let at = 0;
  for (const place of order) {
    if (at === kept.length) return;
    if (key(kept[at]) === key(place)) at++;
  }
  if (at === kept.length) return;
  throw new StrategicPatchError(
    "unknown",
    `The order in patch list:\n${goFormat(patch)}\n doesn't match $setElementOrder list:\n${goFormat(order)}\n`,
  );
}

const GO_INSERTION_SORT_MAX = 20;
const MAP_TYPE = "map[string]interface {}";

/** As Go's reflection names what JSON can hold. */
function goType(value: unknown): string {
  if (value === null || value === undefined) return "%!s(<nil>)";
  if (Array.isArray(value)) return "[]interface {}";
  if (typeof value === "object") return MAP_TYPE;
  if (typeof value === "boolean") return "bool";
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64";
  return typeof value === "bigint" ? "int64" : "string";
}

function wrongType(expected: string, value: unknown): StrategicPatchError {
  const message = `expected a ${expected}, but received a ${goType(value)}`;
  return new StrategicPatchError("unknown", message);
}

type KeyOf = (item: unknown) => unknown;

/** The key of list items: the merge key of objects, the value of scalars. */
function keyReader(mergeKey: string): KeyOf {
  if (mergeKey === "") return (item) => item;
  return (item) => {
    if (!isObject(item)) throw wrongType(MAP_TYPE, item);
    const key = member(item, mergeKey);
    if (key === undefined) throw noMergeKey(item, mergeKey);
    return key;
  };
}

function placesOf(items: readonly unknown[], key: KeyOf): Map<unknown, number> {
  const places = new Map<unknown, number>();
  items.forEach((item, i) => {
    if (!places.has(key(item))) places.set(key(item), i);
  });
  return places;
}

/** Stable. Items that the order does not know make no real order; a short list ends as Go leaves it. */
function sortByPlace(items: unknown[], places: ReadonlyMap<unknown, number>, key: KeyOf): void {
  const place = (item: unknown) => places.get(key(item));
  if (items.every((item) => place(item) !== undefined)) {
    items.sort((a, b) => place(a)! - place(b)!);
    return;
  }
  if (items.length > GO_INSERTION_SORT_MAX) return;
  const isLess = (a = -1, b = -1) => a < 0 || b < 0 || a < b;
  for (let i = 1; i < items.length; i++) {
    for (let j = i; j > 0 && isLess(place(items[j]), place(items[j - 1])); j--) {
      [items[j - 1], items[j]] = [items[j], items[j - 1]];
    }
  }
}

function isBefore(place: number | undefined, other: number): boolean {
  return place !== undefined && other >= 0 && place < other;
}

function isDirective(item: unknown): boolean {
  return isObject(item) && Object.hasOwn(item, "$patch");
}
