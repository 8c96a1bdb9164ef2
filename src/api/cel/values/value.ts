/**
 * Values at run time. Ints are bigints and doubles are numbers, so that the two never mix; lists
 * and maps are read through small interfaces, so that JSON data needs no copy.
 */
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
  optionalType,
  STRING,
  TIMESTAMP,
  type Type,
  typeType,
  UINT,
} from "../types/type.ts";

export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Uint
  | Timestamp
  | Duration
  | TypeValue
  | Optional
  | CelList
  | CelMap
  | CelObject;

/** A fault at run time; conditions absorb it where the other side decides. */
export class CelError extends Error {}

export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

export class Timestamp {
  /** Since 1970. */
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

export class Duration {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

export class TypeValue {
  readonly type: Type;

  constructor(type: Type) {
    this.type = type;
  }
}

export class Optional {
  static readonly none = new Optional(undefined);
  readonly value: Value | undefined;

  constructor(value: Value | undefined) {
    this.value = value;
  }
}

export abstract class CelList {
  abstract readonly size: number;
  abstract at(index: number): Value;

  *[Symbol.iterator](): Generator<Value> {
    for (let i = 0; i < this.size; i++) yield this.at(i);
  }
}

export class ArrayList extends CelList {
  readonly #values: readonly Value[];

  constructor(values: readonly Value[]) {
    super();
    this.#values = values;
  }

  get size(): number {
    return this.#values.length;
  }

  at(index: number): Value {
    return this.#values[index]!;
  }
}

export abstract class CelMap {
  abstract readonly size: number;
  abstract find(key: Value): Value | undefined;
  abstract keys(): Iterable<Value>;
}

export class EntryMap extends CelMap {
  readonly #entries: ReadonlyMap<string, readonly [Value, Value]>;

  constructor(entries: Iterable<readonly [Value, Value]>) {
    super();
    const byKey = new Map<string, readonly [Value, Value]>();
    for (const entry of entries) byKey.set(mapKey(entry[0]) ?? "", entry);
    this.#entries = byKey;
  }

  get size(): number {
    return this.#entries.size;
  }

  find(key: Value): Value | undefined {
    const text = mapKey(key);
    return text === undefined ? undefined : this.#entries.get(text)?.[1];
  }

  *keys(): Generator<Value> {
    for (const [key] of this.#entries.values()) yield key;
  }
}

/** An object with declared fields, or a value of a library. */
export abstract class CelObject {
  abstract readonly type: Type;
  abstract equals(other: CelObject): boolean;

  /** As JSON; faults for values that have no such form. */
  toJson(): unknown {
    throw new CelError(`${this.type.name} is no JSON`);
  }

  /** Undefined if the field is not set; faults for fields that do not exist. */
  field(name: string): Value | undefined {
    throw new CelError(`no such key: ${name}`);
  }
}

/** One text per key; numbers of equal value are one key. Undefined for what can be no key. */
export function mapKey(key: Value): string | undefined {
  switch (typeof key) {
    case "string":
      return `s${key}`;
    case "boolean":
      return `b${key}`;
    case "bigint":
      return `n${key}`;
    case "number":
      return Number.isInteger(key) ? `n${BigInt(key)}` : `d${key}`;
    default:
      return key instanceof Uint ? `n${key.value}` : undefined;
  }
}

export function typeOf(value: Value): Type {
  switch (typeof value) {
    case "boolean":
      return BOOL;
    case "bigint":
      return INT;
    case "number":
      return DOUBLE;
    case "string":
      return STRING;
    default:
      return objectTypeOf(value);
  }
}

const DYN_LIST = listType(DYN);
const DYN_MAP = mapType(DYN, DYN);
const DYN_OPTIONAL = optionalType(DYN);
const TYPE = typeType(undefined);

function objectTypeOf(value: Exclude<Value, boolean | bigint | number | string>): Type {
  if (value === null) return NULL;
  if (value instanceof CelList) return DYN_LIST;
  if (value instanceof CelMap) return DYN_MAP;
  if (value instanceof CelObject) return value.type;
  if (value instanceof Uint8Array) return BYTES;
  if (value instanceof Uint) return UINT;
  if (value instanceof Timestamp) return TIMESTAMP;
  if (value instanceof Duration) return DURATION;
  if (value instanceof Optional) return DYN_OPTIONAL;
  return TYPE;
}

/** Elements of a list, entries of a map, code points, bytes; 1 for others. */
export function sizeOf(value: Value): number {
  if (typeof value === "string") return codePoints(value);
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof CelList || value instanceof CelMap) return value.size;
  return 1;
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
