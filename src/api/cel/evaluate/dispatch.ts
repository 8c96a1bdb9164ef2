/** Which overload a call runs, where that depends on the values. */
import type { Overload } from "../library.ts";
import type { Type } from "../types/type.ts";
import {
  CelError,
  CelList,
  CelMap,
  CelObject,
  Duration,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from "../values/value.ts";

export function chooseOverload(overloads: readonly Overload[], values: readonly Value[]): Overload {
  for (const overload of overloads) {
    if (overload.args.length !== values.length) continue;
    if (overload.args.every((type, i) => isOfType(values[i]!, type))) return overload;
  }
  throw new CelError("no such overload");
}

/** Of lists and maps only the first element is checked. */
function isOfType(value: Value, type: Type): boolean {
  switch (type.kind) {
    case "dyn":
    case "any":
    case "param":
      return true;
    case "null":
      return value === null;
    case "bool":
      return typeof value === "boolean";
    case "int":
      return typeof value === "bigint";
    case "double":
      return typeof value === "number";
    case "string":
      return typeof value === "string";
    case "uint":
      return value instanceof Uint;
    case "bytes":
      return value instanceof Uint8Array;
    case "timestamp":
      return value instanceof Timestamp;
    case "duration":
      return value instanceof Duration;
    case "type":
      return value instanceof TypeValue;
    case "list":
      return (
        value instanceof CelList && (value.size === 0 || isOfType(value.at(0), type.params[0]!))
      );
    case "map":
      return value instanceof CelMap && holdsTypes(value, type);
    case "opaque":
      if (type.name === "optional_type") return isOptionalOf(value, type.params[0]!);
      return value instanceof CelObject && value.type.name === type.name;
    case "object":
      return value instanceof CelObject && value.type.name === type.name;
    case "error":
      return false;
  }
}

function holdsTypes(map: CelMap, { params: [key, value] }: Type): boolean {
  for (const first of map.keys()) {
    return isOfType(first, key!) && isOfType(map.find(first)!, value!);
  }
  return true;
}

function isOptionalOf(value: Value, type: Type): boolean {
  if (!(value instanceof Optional)) return false;
  return value.value === undefined || isOfType(value.value, type);
}
