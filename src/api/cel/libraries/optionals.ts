/** Values that may be missing. */
import type { Library } from "../library.ts";
import { OPTIONAL_MACROS } from "../syntax/macros.ts";
import { DYN, optionalType } from "../types/type.ts";
import {
  ArrayList,
  CelError,
  CelList,
  CelMap,
  Optional,
  Uint,
  type Value,
} from "../values/value.ts";
import { wholeIndex } from "./standard.ts";

export const optionalsLibrary: Library = {
  macros: OPTIONAL_MACROS,
  types: [optionalType(DYN)],
  functions: {
    "optional_of optional.of(V) -> optional(V)": (value: Value) => new Optional(value),
    "optional_ofNonZeroValue optional.ofNonZeroValue(V) -> optional(V)": (value: Value) =>
      isZero(value) ? Optional.none : new Optional(value),
    "optional_none optional.none() -> optional(V)": () => Optional.none,
    "optional_value optional(V).value() -> V": ({ value }: Optional) => {
      if (value === undefined) throw new CelError("optional.none() dereference");
      return value;
    },
    "optional_hasValue optional(V).hasValue() -> bool": ({ value }: Optional) =>
      value !== undefined,
    // The other side is only evaluated where it is needed: these two are compiled, not called.
    "optional_or_optional optional(V).or(optional(V)) -> optional(V)": (
      a: Optional,
      b: Optional,
    ) => (a.value === undefined ? b : a),
    "optional_orValue_value optional(V).orValue(V) -> V": ({ value }: Optional, other: Value) =>
      value ?? other,
    "select_optional_field _?._(dyn, string) -> optional(V)": optionalIndex,
    "list_optindex_optional_int _[?_](list(V), int) -> optional(V)": optionalIndex,
    "optional_list_optindex_optional_int _[?_](optional(list(V)), int) -> optional(V)":
      optionalIndex,
    "map_optindex_optional_value _[?_](map(K, V), K) -> optional(V)": optionalIndex,
    "optional_map_optindex_optional_value _[?_](optional(map(K, V)), K) -> optional(V)":
      optionalIndex,
    "optional_list_index_int _[_](optional(list(V)), int) -> optional(V)": optionalIndex,
    "optional_map_index_value _[_](optional(map(K, V)), K) -> optional(V)": optionalIndex,
    "list_last list(V).last() -> optional(V)": (list: CelList) =>
      list.size === 0 ? Optional.none : new Optional(list.at(list.size - 1)),
    "list_first list(V).first() -> optional(V)": (list: CelList) =>
      list.size === 0 ? Optional.none : new Optional(list.at(0)),
    "optional_unwrap optional.unwrap(list(optional(V))) -> list(V)": unwrap,
    "optional_unwrapOpt list(optional(V)).unwrapOpt() -> list(V)": unwrap,
  },
};

export function optionalIndex(target: Value, index: Value): Optional {
  if (target instanceof Optional) {
    return target.value === undefined ? Optional.none : optionalIndex(target.value, index);
  }
  const found = elementOf(target, index);
  return found === undefined ? Optional.none : new Optional(found);
}

function elementOf(target: Value, index: Value): Value | undefined {
  if (target instanceof CelMap) return target.find(index);
  if (target instanceof CelList) {
    const at = wholeIndex(index);
    return at === undefined || at < 0 || at >= target.size ? undefined : target.at(at);
  }
  throw new CelError("no such overload");
}

function unwrap(list: CelList): ArrayList {
  const values: Value[] = [];
  for (const element of list) {
    if (!(element instanceof Optional)) throw new CelError(`value ${element} is not optional`);
    if (element.value !== undefined) values.push(element.value);
  }
  return new ArrayList(values);
}

function isZero(value: Value): boolean {
  if (value === null || value === false || value === 0n || value === 0 || value === "") return true;
  if (value instanceof Uint) return value.value === 0n;
  if (value instanceof CelList || value instanceof CelMap) return value.size === 0;
  if (value instanceof Uint8Array) return value.length === 0;
  if (value instanceof Optional) return value.value === undefined;
  return typeof value === "object" && "nanos" in value && value.nanos === 0n;
}
