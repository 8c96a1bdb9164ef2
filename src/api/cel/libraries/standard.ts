/** The functions and operators that every expression has. */
import type { Implementation, Library } from "../library.ts";
import { STANDARD_MACROS } from "../syntax/macros.ts";
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listType,
  mapType,
  NULL,
  STRING,
  TIMESTAMP,
  typeType,
  UINT,
} from "../types/type.ts";
import { compare, isEqual } from "../values/compare.ts";
import {
  CelError,
  type CelList,
  type CelMap,
  sizeOf,
  TypeValue,
  typeOf,
  Uint,
  type Value,
} from "../values/value.ts";
import { ARITHMETIC } from "./arithmetic.ts";
import { CONVERSIONS } from "./conversions.ts";
import { DATE_FUNCTIONS } from "./dates.ts";
import { matches } from "./regular-expressions.ts";

const COMPARED = ["bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration"];
const MIXED: readonly (readonly [string, string])[] = [
  ["int", "double"],
  ["int", "uint"],
  ["uint", "double"],
  ["uint", "int"],
  ["double", "int"],
  ["double", "uint"],
];

export const standardLibrary: Library = {
  macros: STANDARD_MACROS,
  types: [
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    listType(DYN),
    mapType(DYN, DYN),
    NULL,
    STRING,
    TIMESTAMP,
    typeType(undefined),
    UINT,
  ],
  functions: {
    // Conditions are compiled, not called: they do not evaluate all of their operands.
    "conditional _?_:_(bool, A, A) -> A": notCalled,
    "logical_and _&&_(bool, bool) -> bool": notCalled,
    "logical_or _||_(bool, bool) -> bool": notCalled,
    "logical_not !_(bool) -> bool": (a: boolean) => !a,
    "not_strictly_false @not_strictly_false(bool) -> bool": notCalled,
    "equals _==_(A, A) -> bool": isEqual,
    "not_equals _!=_(A, A) -> bool": (a: Value, b: Value) => !isEqual(a, b),
    ...ARITHMETIC,
    ...comparisons("less", "_<_", (order) => order < 0),
    ...comparisons("less_equals", "_<=_", (order) => order <= 0),
    ...comparisons("greater", "_>_", (order) => order > 0),
    ...comparisons("greater_equals", "_>=_", (order) => order >= 0),
    "index_list _[_](list(A), int) -> A": indexList,
    "index_map _[_](map(A, B), A) -> B": indexMap,
    "in_list @in(A, list(A)) -> bool": (value: Value, list: CelList) => {
      for (const element of list) if (isEqual(element, value)) return true;
      return false;
    },
    "in_map @in(A, map(A, B)) -> bool": (key: Value, map: CelMap) => map.find(key) !== undefined,
    "size_bytes size(bytes) -> int": size,
    "bytes_size bytes.size() -> int": size,
    "size_list size(list(A)) -> int": size,
    "list_size list(A).size() -> int": size,
    "size_map size(map(A, B)) -> int": size,
    "map_size map(A, B).size() -> int": size,
    "size_string size(string) -> int": size,
    "string_size string.size() -> int": size,
    "type type(A) -> type(A)": (value: Value) => new TypeValue(typeOf(value)),
    "to_dyn dyn(A) -> dyn": (value: Value) => value,
    ...CONVERSIONS,
    "contains_string string.contains(string) -> bool": (a: string, b: string) => a.includes(b),
    "ends_with_string string.endsWith(string) -> bool": (a: string, b: string) => a.endsWith(b),
    "starts_with_string string.startsWith(string) -> bool": (a: string, b: string) =>
      a.startsWith(b),
    "matches matches(string, string) -> bool": matches,
    "matches_string string.matches(string) -> bool": matches,
    ...DATE_FUNCTIONS,
  },
};

function notCalled(): Value {
  throw new CelError("no such overload");
}

function comparisons(
  id: string,
  operator: string,
  holds: (order: number) => boolean,
): Record<string, Implementation> {
  const call = (a: Value, b: Value) => {
    const order = compare(a, b);
    return order !== undefined && holds(order);
  };
  const long = (type: string) => (type === "int" || type === "uint" ? `${type}64` : type);
  const rows = [
    ...COMPARED.map((type) => `${id}_${long(type)} ${operator}(${type}, ${type}) -> bool`),
    ...MIXED.map(([a, b]) => `${id}_${long(a)}_${long(b)} ${operator}(${a}, ${b}) -> bool`),
  ];
  return Object.fromEntries(rows.map((row) => [row, call]));
}

function size(value: Value): bigint {
  return BigInt(sizeOf(value));
}

/** Also by doubles and uints that are whole, for lists whose index is dynamic. */
export function indexList(list: CelList, index: Value): Value {
  const at = wholeIndex(index);
  if (at === undefined) {
    throw new CelError(`unsupported index type '${typeOf(index).name}' in list`);
  }
  if (at < 0 || at >= list.size) throw new CelError(`index out of bounds: ${at}`);
  return list.at(at);
}

export function wholeIndex(index: Value): number | undefined {
  if (typeof index === "bigint") return Number(index);
  if (index instanceof Uint) return Number(index.value);
  return typeof index === "number" && Number.isInteger(index) ? index : undefined;
}

export function indexMap(map: CelMap, key: Value): Value {
  const value = map.find(key);
  if (value === undefined) throw new CelError(`no such key: ${showKey(key)}`);
  return value;
}

function showKey(key: Value): string {
  return key instanceof Uint ? `${key.value}` : String(key);
}
