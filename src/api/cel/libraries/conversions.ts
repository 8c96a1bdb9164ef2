/** Conversions between types: `int(…)`, `string(…)`, `timestamp(…)` and so on. */
import type { Implementation } from "../library.ts";
import {
  parseDuration,
  parseTimestamp,
  showDuration,
  showTimestamp,
  timestamp,
} from "../values/time.ts";
import { CelError, type Duration, type Timestamp, Uint, type Value } from "../values/value.ts";
import { int, uint } from "./arithmetic.ts";

export const CONVERSIONS: Readonly<Record<string, Implementation>> = {
  "bool_to_bool bool(bool) -> bool": same,
  "string_to_bool bool(string) -> bool": stringToBool,
  "bytes_to_bytes bytes(bytes) -> bytes": same,
  "string_to_bytes bytes(string) -> bytes": (text: string) => new TextEncoder().encode(text),
  "double_to_double double(double) -> double": same,
  "int64_to_double double(int) -> double": (value: bigint) => Number(value),
  "string_to_double double(string) -> double": stringToDouble,
  "uint64_to_double double(uint) -> double": (value: Uint) => Number(value.value),
  "duration_to_duration duration(duration) -> duration": same,
  "int64_to_duration duration(int) -> duration": () => {
    throw conversion("int", "google.protobuf.Duration");
  },
  "string_to_duration duration(string) -> duration": (text: string) => {
    const parsed = parseDuration(text);
    if (parsed === undefined) throw conversion("string", "google.protobuf.Duration");
    return parsed;
  },
  "int64_to_int64 int(int) -> int": same,
  "double_to_int64 int(double) -> int": (value: number) => {
    // The limits themselves are not exact as doubles.
    const fits = Number.isFinite(value) && value > -(2 ** 63) && value < 2 ** 63;
    if (!fits) throw new CelError("integer overflow");
    return BigInt(Math.trunc(value));
  },
  "duration_to_int64 int(duration) -> int": (value: Duration) => value.nanos,
  "string_to_int64 int(string) -> int": (text: string) => {
    if (!/^[+-]?\d+$/.test(text)) throw conversion("string", "int");
    const value = BigInt(text.replace("+", ""));
    if (BigInt.asIntN(64, value) !== value) throw conversion("string", "int");
    return value;
  },
  "timestamp_to_int64 int(timestamp) -> int": ({ nanos }: Timestamp) => {
    const seconds = nanos / 1_000_000_000n;
    return nanos % 1_000_000_000n < 0n ? seconds - 1n : seconds;
  },
  "uint64_to_int64 int(uint) -> int": (value: Uint) => int(value.value),
  "string_to_string string(string) -> string": same,
  "bool_to_string string(bool) -> string": (value: boolean) => String(value),
  "bytes_to_string string(bytes) -> string": (bytes: Uint8Array) => {
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      throw new CelError("invalid UTF-8 in bytes, cannot convert to string");
    }
  },
  "double_to_string string(double) -> string": showDouble,
  "duration_to_string string(duration) -> string": showDuration,
  "int64_to_string string(int) -> string": (value: bigint) => value.toString(),
  "timestamp_to_string string(timestamp) -> string": showTimestamp,
  "uint64_to_string string(uint) -> string": (value: Uint) => value.value.toString(),
  "timestamp_to_timestamp timestamp(timestamp) -> timestamp": same,
  "int64_to_timestamp timestamp(int) -> timestamp": (seconds: bigint) =>
    timestamp(seconds * 1_000_000_000n),
  "string_to_timestamp timestamp(string) -> timestamp": (text: string) => {
    const parsed = parseTimestamp(text);
    if (parsed === undefined) throw conversion("string", "google.protobuf.Timestamp");
    return parsed;
  },
  "uint64_to_uint64 uint(uint) -> uint": same,
  "double_to_uint64 uint(double) -> uint": (value: number) => {
    const fits = Number.isFinite(value) && value >= 0 && value < 2 ** 64;
    if (!fits) throw new CelError("unsigned integer overflow");
    return new Uint(BigInt(Math.trunc(value)));
  },
  "int64_to_uint64 uint(int) -> uint": (value: bigint) => uint(value),
  "string_to_uint64 uint(string) -> uint": (text: string) => {
    if (!/^\d+$/.test(text)) throw conversion("string", "uint");
    const value = BigInt(text);
    if (BigInt.asUintN(64, value) !== value) throw conversion("string", "uint");
    return new Uint(value);
  },
};

function same(value: Value): Value {
  return value;
}

function conversion(from: string, to: string): CelError {
  return new CelError(`type conversion error from '${from}' to '${to}'`);
}

function stringToBool(text: string): boolean {
  if (["1", "t", "T", "TRUE", "true", "True"].includes(text)) return true;
  if (["0", "f", "F", "FALSE", "false", "False"].includes(text)) return false;
  throw conversion("string", "bool");
}

const SPECIAL: Readonly<Record<string, number>> = {
  inf: Infinity,
  infinity: Infinity,
  nan: Number.NaN,
};
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

function stringToDouble(text: string): number {
  const special = SPECIAL[text.toLowerCase().replace(/^[+-]/, "")];
  if (special !== undefined) return text.startsWith("-") ? -special : special;
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
  if (!Number.isFinite(value)) throw conversion("string", "double");
  return value;
}

/** As Go's %g: exponents below -4 and from 21 on. */
function showDouble(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [mantissa, exponentText] = value.toExponential().split("e") as [string, string];
  const exponent = Number(exponentText);
  if (exponent >= -4 && exponent < 21) return plainDecimal(value, exponent);
  const digits = String(Math.abs(exponent)).padStart(2, "0");
  return `${mantissa}e${exponent < 0 ? "-" : "+"}${digits}`;
}

function plainDecimal(value: number, exponent: number): string {
  if (exponent >= 0) return String(value);
  const [digits] = value.toExponential().split("e") as [string];
  const decimals = digits.replace("-", "").replace(".", "").length - 1 - exponent;
  return value.toFixed(Math.min(decimals, 100));
}
