/** Lists made of lists: parts, order, duplicates, nesting. */
import type { Implementation, Library } from "../library.ts";
import { SORT_BY_MACRO } from "../syntax/macros.ts";
import { compare, isEqual } from "../values/compare.ts";
import { ArrayList, CelError, CelList, typeOf, type Value } from "../values/value.ts";

const SORTED = ["int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"];
const TYPE_NAMES: Readonly<Record<string, string>> = {
  duration: "google.protobuf.Duration",
  timestamp: "google.protobuf.Timestamp",
};
/** A range longer than this would only exhaust memory. */
const RANGE_MAX = 1_000_000n;

export const listsLibrary: Library = {
  macros: [SORT_BY_MACRO],
  functions: {
    "list_slice list(T).slice(int, int) -> list(T)": slice,
    "list_flatten list(list(T)).flatten() -> list(T)": (list: CelList) =>
      new ArrayList(flatten(list, 1n)),
    "list_flatten_int list(dyn).flatten(int) -> list(dyn)": (list: CelList, depth: bigint) => {
      if (depth < 0n) throw new CelError("level must be non-negative");
      return new ArrayList(flatten(list, depth));
    },
    ...forEachType((type, name) => [
      `list_${name}_sort list(${type}).sort() -> list(${type})`,
      (list: CelList) => sortBy(list, list),
    ]),
    ...forEachType((type, name) => [
      `list_${name}_sortByAssociatedKeys list(T).@sortByAssociatedKeys(list(${type})) -> list(T)`,
      sortBy,
    ]),
    "lists_range lists.range(int) -> list(int)": (count: bigint) => {
      if (count > RANGE_MAX) throw new CelError(`lists.range: ${count} is too many`);
      return new ArrayList(Array.from({ length: Math.max(Number(count), 0) }, (_, i) => BigInt(i)));
    },
    "list_reverse list(T).reverse() -> list(T)": (list: CelList) =>
      new ArrayList([...list].reverse()),
    "list_distinct list(T).distinct() -> list(T)": (list: CelList) => {
      const kept: Value[] = [];
      for (const value of list) {
        if (!kept.some((other) => isEqual(other, value))) kept.push(value);
      }
      return new ArrayList(kept);
    },
  },
};

function forEachType(
  row: (type: string, name: string) => [string, Implementation],
): Record<string, Implementation> {
  return Object.fromEntries(SORTED.map((type) => row(type, TYPE_NAMES[type] ?? type)));
}

function slice(list: CelList, start: bigint, end: bigint): ArrayList {
  const at = `cannot slice(${start}, ${end})`;
  if (start < 0n || end < 0n) throw new CelError(`${at}, negative indexes not supported`);
  if (start > end) throw new CelError(`${at}, start index must be less than or equal to end index`);
  if (BigInt(list.size) < end) throw new CelError(`${at}, list is length ${list.size}`);
  return new ArrayList([...list].slice(Number(start), Number(end)));
}

function flatten(list: CelList, depth: bigint): Value[] {
  const flat: Value[] = [];
  for (const value of list) {
    if (value instanceof CelList && depth > 0n) flat.push(...flatten(value, depth - 1n));
    else flat.push(value);
  }
  return flat;
}

function sortBy(list: CelList, keys: CelList): ArrayList {
  if (list.size !== keys.size) {
    const sizes = `list size: ${list.size}, keys size: ${keys.size}`;
    throw new CelError(
      `@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got: ${sizes}`,
    );
  }
  const first = list.size === 0 ? undefined : typeOf(keys.at(0)).name;
  const pairs = Array.from(list, (value, i) => ({ value, key: keys.at(i) }));
  if (pairs.some(({ key }) => typeOf(key).name !== first)) {
    throw new CelError("list elements must have the same type");
  }
  if (first !== undefined && !SORTED.some((type) => (TYPE_NAMES[type] ?? type) === first)) {
    throw new CelError("list elements must be comparable");
  }
  pairs.sort((a, b) => compare(a.key, b.key) ?? 0);
  return new ArrayList(pairs.map(({ value }) => value));
}
