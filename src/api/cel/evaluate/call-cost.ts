/** What a call cost, from the sizes of its operands and its result. */
import { LIST_BASE, REGEX_FACTOR, STRING_FACTOR } from "../cost/estimate.ts";
import { CelList, CelMap, Optional, sizeOf, type Value } from "../values/value.ts";

/** Costs of libraries; undefined for those that cost as the language's own. */
export type CallCosts = (
  name: string,
  overload: string,
  args: readonly Value[],
  result: Value,
) => number | undefined;

export function languageCallCost(overload: string, args: readonly Value[], result: Value): number {
  const [a = null, b = null] = args;
  switch (overload) {
    case "starts_with_string":
    case "ends_with_string":
    case "string_to_bytes":
    case "bytes_to_string":
    case "strings_quote":
    case "string_format":
      return read(size(a));
    case "in_list":
      return size(b);
    case "add_string":
    case "add_bytes":
      return read(size(a) + size(b));
    case "matches_string":
      return read(size(a) + 1) * Math.ceil(size(b) * REGEX_FACTOR);
    case "contains_string":
      return read(size(a)) * read(size(b));
    case "list_slice":
    case "lists_range":
    case "list_reverse":
      return size(result) + 1 + LIST_BASE;
    case "list_flatten":
      return size(a) + 1 + LIST_BASE;
    case "list_flatten_int":
      return size(a) * Number(b) + 1 + LIST_BASE;
    case "list_distinct":
      return selfCompared(a);
    case "list_sets_contains_list":
    case "list_sets_intersects_list":
      return size(a) * size(b) + 1;
    case "list_sets_equivalent_list":
      return 2 * size(a) * size(b) + 1;
  }
  if (COMPARED.test(overload)) return read(Math.min(size(a), size(b)));
  if (overload.endsWith("_sort")) return selfCompared(a);
  return overload.endsWith("_sortByAssociatedKeys") ? selfCompared(b) : 1;
}

const COMPARED = /^(?:equals|not_equals|(?:less|greater)(?:_equals)?_(?:string|bytes))$/;

/** What reading so many characters costs. */
export function read(characters: number): number {
  return Math.ceil(characters * STRING_FACTOR);
}

export function size(value: Value): number {
  if (value instanceof Optional && value.value !== undefined) return size(value.value);
  return sizeOf(value);
}

/** Reading all there is in a value. */
export function traversal(value: Value): number {
  if (typeof value === "string" || value instanceof Uint8Array) {
    return Math.floor(sizeOf(value) * STRING_FACTOR);
  }
  let cost = 0;
  if (value instanceof CelList) {
    for (const element of value) cost += traversal(element);
    return cost;
  }
  if (!(value instanceof CelMap)) return 1;
  for (const key of value.keys()) cost += traversal(key) + traversal(value.find(key)!);
  return cost;
}

function selfCompared(value: Value): number {
  if (!(value instanceof CelList)) return 1;
  const first = value.size === 0 ? null : value.at(0);
  const isText = typeof first === "string" || first instanceof Uint8Array;
  const factor = isText ? 2 + STRING_FACTOR : 2;
  return Math.floor(value.size ** 2 * factor) + 1 + LIST_BASE;
}
