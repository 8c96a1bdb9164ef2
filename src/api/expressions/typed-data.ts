/** Data of a declared type as values: texts of times and bytes become times and bytes. */

import { isEqual } from "#api/cel/values/compare.ts";
import { fromJson } from "#api/cel/values/json.ts";
import { parseDuration, parseTimestamp } from "#api/cel/values/time.ts";
import { CelError, CelList, CelMap, CelObject, type Value } from "#api/cel/values/value.ts";
import type { DeclaredType } from "./declared-type.ts";
import { unescapeFieldName } from "./field-names.ts";

export function typedValue(json: unknown, declared: DeclaredType): Value {
  if (json === null || json === undefined) return null;
  switch (declared.type.kind) {
    case "timestamp":
      return parseTimestamp(withTime(String(json))) ?? unreadable("timestamp");
    case "duration":
      return parseDuration(String(json)) ?? unreadable("duration");
    case "bytes":
      return Uint8Array.from(atob(String(json)), (char) => char.charCodeAt(0));
    case "double":
      return Number(json);
    case "string":
      // Validation lets other types pass where the schema has a format.
      if (typeof json !== "string")
        throw new CelError(`invalid data, expected string, got ${goTypeOf(json)}`);
      return json;
    case "list":
      return new TypedList(json as readonly unknown[], declared.element!);
    case "map":
      return new TypedMap(json as JsonObject, declared.element!);
    case "object":
      return new TypedObject(json as JsonObject, declared);
    default:
      return fromJson(json);
  }
}

type JsonObject = Readonly<Record<string, unknown>>;

class TypedList extends CelList {
  readonly #json: readonly unknown[];
  readonly #element: DeclaredType;

  constructor(json: readonly unknown[], element: DeclaredType) {
    super();
    this.#json = json;
    this.#element = element;
  }

  get size(): number {
    return this.#json.length;
  }

  at(index: number): Value {
    return typedValue(this.#json[index], this.#element);
  }
}

class TypedMap extends CelMap {
  readonly #json: JsonObject;
  readonly #element: DeclaredType;

  constructor(json: JsonObject, element: DeclaredType) {
    super();
    this.#json = json;
    this.#element = element;
  }

  get size(): number {
    return Object.keys(this.#json).length;
  }

  find(key: Value): Value | undefined {
    if (typeof key !== "string" || !Object.hasOwn(this.#json, key)) return undefined;
    return typedValue(this.#json[key], this.#element);
  }

  keys(): Iterable<Value> {
    return Object.keys(this.#json);
  }
}

class TypedObject extends CelObject {
  readonly type: DeclaredType["type"];
  readonly #json: JsonObject;
  readonly #fields: ReadonlyMap<string, DeclaredType>;

  constructor(json: JsonObject, { type, fields }: DeclaredType) {
    super();
    this.type = type;
    this.#json = json;
    this.#fields = fields!;
  }

  override field(name: string): Value | undefined {
    const declared = this.#fields.get(name) ?? this.#fields.get(`__${name}__`);
    if (declared === undefined) throw new CelError(`no such key: ${name}`);
    const property = unescapeFieldName(name);
    if (!Object.hasOwn(this.#json, property)) return undefined;
    return typedValue(this.#json[property], declared);
  }

  override toJson(): unknown {
    return this.#json;
  }

  equals(other: CelObject): boolean {
    if (!(other instanceof TypedObject)) return false;
    for (const name of this.#fields.keys()) {
      const [mine, theirs] = [this.field(name), other.field(name)];
      if (mine === undefined || theirs === undefined) {
        if (mine !== theirs) return false;
      } else if (!isEqual(mine, theirs)) {
        return false;
      }
    }
    return true;
  }
}

function goTypeOf(json: unknown): string {
  if (Array.isArray(json)) return "[]interface {}";
  if (typeof json === "object") return "map[string]interface {}";
  if (typeof json === "boolean") return "bool";
  return typeof json === "bigint" || Number.isInteger(json) ? "int64" : "float64";
}

/** Dates are times at midnight. */
function withTime(text: string): string {
  return /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
}

function unreadable(type: string): never {
  throw new CelError(`unable to read ${type}`);
}
