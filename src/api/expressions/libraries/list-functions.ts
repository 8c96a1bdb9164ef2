/** Kubernetes' functions of lists: order, sums, extremes, places. */

import { int, uint } from "#api/cel/libraries/arithmetic.ts";
import type { Implementation, Library } from "#api/cel/library.ts";
import { compare, isEqual } from "#api/cel/values/compare.ts";
import { duration } from "#api/cel/values/time.ts";
import { CelError, type CelList, Duration, Uint, type Value } from "#api/cel/values/value.ts";

const COMPARABLE = ["int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"];

const SUMS: Readonly<Record<string, { zero: Value; add: Implementation }>> = {
  int: { zero: 0n, add: (a: bigint, b: bigint) => int(a + b) },
  uint: { zero: new Uint(0n), add: (a: Uint, b: Uint) => uint(a.value + b.value) },
  double: { zero: 0, add: (a: number, b: number) => a + b },
  duration: {
    zero: new Duration(0n),
    add: (a: Duration, b: Duration) => duration(a.nanos + b.nanos),
  },
};

export const listFunctionsLibrary: Library = {
  functions: {
    ...rows(COMPARABLE, (type) => [
      `list_${type}_is_sorted_bool list(${type}).isSorted() -> bool`,
      (list: CelList) => {
        for (let i = 1; i < list.size; i++) {
          if ((compare(list.at(i - 1), list.at(i)) ?? 0) > 0) return false;
        }
        return true;
      },
    ]),
    ...rows(Object.keys(SUMS), (type) => [
      `list_${type}_sum_${type} list(${type}).sum() -> ${type}`,
      (list: CelList) => {
        const { zero, add } = SUMS[type]!;
        let sum = zero;
        for (const value of list) sum = add(...([sum, value] as never[]));
        return sum;
      },
    ]),
    ...rows(COMPARABLE, (type) => [
      `list_${type}_max_${type} list(${type}).max() -> ${type}`,
      (list: CelList) => extreme(list, "max", (order) => order > 0),
    ]),
    ...rows(COMPARABLE, (type) => [
      `list_${type}_min_${type} list(${type}).min() -> ${type}`,
      (list: CelList) => extreme(list, "min", (order) => order < 0),
    ]),
    "list_a_index_of_int list(A).indexOf(A) -> int": (list: CelList, value: Value) => {
      for (let i = 0; i < list.size; i++) if (isEqual(list.at(i), value)) return BigInt(i);
      return -1n;
    },
    "list_a_last_index_of_int list(A).lastIndexOf(A) -> int": (list: CelList, value: Value) => {
      for (let i = list.size - 1; i >= 0; i--) if (isEqual(list.at(i), value)) return BigInt(i);
      return -1n;
    },
  },
};

function rows(
  types: readonly string[],
  row: (type: string) => [string, Implementation],
): Record<string, Implementation> {
  return Object.fromEntries(types.map(row));
}

function extreme(list: CelList, name: string, wins: (order: number) => boolean): Value {
  if (list.size === 0) throw new CelError(`${name} called on empty list`);
  let best = list.at(0);
  for (const value of list) if (wins(compare(value, best) ?? 0)) best = value;
  return best;
}
