/** `+ - * / %` and negation, with the limits of each type. */
import type { Implementation } from "../library.ts";
import { duration, timestamp } from "../values/time.ts";
import {
  ArrayList,
  CelError,
  CelList,
  type Duration,
  type Timestamp,
  Uint,
  type Value,
} from "../values/value.ts";

export const ARITHMETIC: Readonly<Record<string, Implementation>> = {
  "add_bytes _+_(bytes, bytes) -> bytes": (a: Uint8Array, b: Uint8Array) => {
    const joined = new Uint8Array(a.length + b.length);
    joined.set(a);
    joined.set(b, a.length);
    return joined;
  },
  "add_double _+_(double, double) -> double": (a: number, b: number) => a + b,
  "add_duration_duration _+_(duration, duration) -> duration": (a: Duration, b: Duration) =>
    duration(a.nanos + b.nanos),
  "add_duration_timestamp _+_(duration, timestamp) -> timestamp": (a: Duration, b: Timestamp) =>
    timestamp(a.nanos + b.nanos),
  "add_timestamp_duration _+_(timestamp, duration) -> timestamp": (a: Timestamp, b: Duration) =>
    timestamp(a.nanos + b.nanos),
  "add_int64 _+_(int, int) -> int": (a: bigint, b: bigint) => int(a + b),
  "add_list _+_(list(A), list(A)) -> list(A)": (a: CelList, b: CelList) => joinLists(a, b),
  "add_string _+_(string, string) -> string": (a: string, b: string) => a + b,
  "add_uint64 _+_(uint, uint) -> uint": (a: Uint, b: Uint) => uint(a.value + b.value),
  "divide_double _/_(double, double) -> double": (a: number, b: number) => a / b,
  "divide_int64 _/_(int, int) -> int": (a: bigint, b: bigint) => int(a / divisor(b)),
  "divide_uint64 _/_(uint, uint) -> uint": (a: Uint, b: Uint) => uint(a.value / divisor(b.value)),
  "modulo_int64 _%_(int, int) -> int": (a: bigint, b: bigint) => {
    if (b === 0n) throw new CelError("modulus by zero");
    if (b === -1n) int(-a);
    return a % b;
  },
  "modulo_uint64 _%_(uint, uint) -> uint": (a: Uint, b: Uint) => {
    if (b.value === 0n) throw new CelError("modulus by zero");
    return new Uint(a.value % b.value);
  },
  "multiply_double _*_(double, double) -> double": (a: number, b: number) => a * b,
  "multiply_int64 _*_(int, int) -> int": (a: bigint, b: bigint) => int(a * b),
  "multiply_uint64 _*_(uint, uint) -> uint": (a: Uint, b: Uint) => uint(a.value * b.value),
  "negate_double -_(double) -> double": (a: number) => -a,
  "negate_int64 -_(int) -> int": (a: bigint) => int(-a),
  "subtract_double _-_(double, double) -> double": (a: number, b: number) => a - b,
  "subtract_duration_duration _-_(duration, duration) -> duration": (a: Duration, b: Duration) =>
    duration(a.nanos - b.nanos),
  "subtract_int64 _-_(int, int) -> int": (a: bigint, b: bigint) => int(a - b),
  "subtract_timestamp_duration _-_(timestamp, duration) -> timestamp": (
    a: Timestamp,
    b: Duration,
  ) => timestamp(a.nanos - b.nanos),
  "subtract_timestamp_timestamp _-_(timestamp, timestamp) -> duration": (
    a: Timestamp,
    b: Timestamp,
  ) => duration(a.nanos - b.nanos),
  "subtract_uint64 _-_(uint, uint) -> uint": (a: Uint, b: Uint) => uint(a.value - b.value),
};

export function int(value: bigint): bigint {
  if (BigInt.asIntN(64, value) !== value) throw new CelError("integer overflow");
  return value;
}

export function uint(value: bigint): Uint {
  if (BigInt.asUintN(64, value) !== value) throw new CelError("unsigned integer overflow");
  return new Uint(value);
}

function divisor(value: bigint): bigint {
  if (value === 0n) throw new CelError("division by zero");
  return value;
}

/** Sums made one element at a time, as comprehensions do, share what they hold. */
class GrowingList extends CelList {
  readonly #values: Value[];
  readonly size: number;

  constructor(values: Value[]) {
    super();
    this.#values = values;
    this.size = values.length;
  }

  at(index: number): Value {
    return this.#values[index]!;
  }

  plus(other: CelList): GrowingList {
    const isLatest = this.#values.length === this.size;
    const values = isLatest ? this.#values : this.#values.slice(0, this.size);
    for (const value of other) values.push(value);
    return new GrowingList(values);
  }
}

function joinLists(a: CelList, b: CelList): CelList {
  if (a.size === 0) return b.size === 0 ? new ArrayList([]) : new GrowingList([...b]);
  return a instanceof GrowingList ? a.plus(b) : new GrowingList([...a, ...b]);
}
