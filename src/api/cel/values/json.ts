/** JSON as values, without copying it: whole numbers are ints, others doubles. */

import { showDuration, showTimestamp } from "./time.ts";
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
} from "./value.ts";

type JsonObject = Readonly<Record<string, unknown>>;

export function fromJson(json: unknown): Value {
  switch (typeof json) {
    case "string":
    case "boolean":
    case "bigint":
      return json;
    case "number":
      return Number.isInteger(json) ? BigInt(json) : json;
    case "object":
      if (json === null) return null;
      return Array.isArray(json) ? new JsonList(json) : new JsonMap(json as JsonObject);
    default:
      return null;
  }
}

/** What a value is in JSON; faults for what JSON cannot say. */
export function toJson(value: Value): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "number":
      return value;
    case "bigint":
      return Number.isSafeInteger(Number(value)) ? Number(value) : value;
    default:
      return objectToJson(value);
  }
}

/** What JSON is as a value; there is more than one opinion on numbers. */
type ReadJson = (json: unknown) => Value;

export class JsonList extends CelList {
  readonly #json: readonly unknown[];
  readonly #read: ReadJson;

  constructor(json: readonly unknown[], read: ReadJson = fromJson) {
    super();
    this.#json = json;
    this.#read = read;
  }

  get size(): number {
    return this.#json.length;
  }

  at(index: number): Value {
    return this.#read(this.#json[index]);
  }
}

export class JsonMap extends CelMap {
  readonly #json: JsonObject;
  readonly #read: ReadJson;

  constructor(json: JsonObject, read: ReadJson = fromJson) {
    super();
    this.#json = json;
    this.#read = read;
  }

  get size(): number {
    return Object.keys(this.#json).length;
  }

  find(key: Value): Value | undefined {
    if (typeof key !== "string" || !Object.hasOwn(this.#json, key)) return undefined;
    return this.#read(this.#json[key]);
  }

  keys(): Iterable<Value> {
    return Object.keys(this.#json);
  }
}

function objectToJson(value: Exclude<Value, string | boolean | number | bigint>): unknown {
  if (value === null) return null;
  if (value instanceof CelList) return Array.from(value, toJson);
  if (value instanceof CelMap) {
    return Object.fromEntries(
      Array.from(value.keys(), (key) => [String(toJson(key)), toJson(value.find(key)!)]),
    );
  }
  if (value instanceof Uint) return toJson(value.value);
  if (value instanceof Uint8Array) return btoa(String.fromCharCode(...value));
  if (value instanceof Timestamp) return showTimestamp(value);
  if (value instanceof Duration) return showDuration(value);
  if (value instanceof CelObject) return value.toJson();
  if (value instanceof TypeValue) return value.type.name;
  if (value instanceof Optional && value.value !== undefined) return toJson(value.value);
  throw new CelError("an optional without a value is no JSON");
}
