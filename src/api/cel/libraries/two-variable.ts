/** What comprehensions that see index and element, or key and value, build maps with. */
import type { Library } from "../library.ts";
import { TWO_VARIABLE_MACROS } from "../syntax/macros.ts";
import { CelError, type CelMap, EntryMap, type Value } from "../values/value.ts";

export const twoVariableLibrary: Library = {
  macros: TWO_VARIABLE_MACROS,
  functions: {
    "@mapInsert_map_key_value cel.@mapInsert(map(K, V), K, V) -> map(K, V)": (
      map: CelMap,
      key: Value,
      value: Value,
    ) => insert(map, [[key, value]]),
    "@mapInsert_map_map cel.@mapInsert(map(K, V), map(K, V)) -> map(K, V)": (
      map: CelMap,
      other: CelMap,
    ) => insert(map, entriesOf(other)),
  },
};

function insert(map: CelMap, added: readonly (readonly [Value, Value])[]): EntryMap {
  for (const [key] of added) {
    if (map.find(key) !== undefined) throw new CelError(`insert failed: key ${key} already exists`);
  }
  return new EntryMap([...entriesOf(map), ...added]);
}

function entriesOf(map: CelMap): [Value, Value][] {
  return Array.from(map.keys(), (key) => [key, map.find(key)!]);
}
