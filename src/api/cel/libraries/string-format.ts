/** `'%s has %d'.format([…])`: the clauses s, d, f, e, b, x, X and o. */
import { showDuration, showTimestamp } from "../values/time.ts";
import {
  CelError,
  CelList,
  CelMap,
  Duration,
  Timestamp,
  TypeValue,
  typeOf,
  Uint,
  type Value,
} from "../values/value.ts";

const CLAUSE = /%(?:%|(?:\.(\d+))?(.)?)/gsu;
const PRECISION = 6;

export function formatString(format: string, args: CelList): string {
  let used = 0;
  const text = format.replaceAll(CLAUSE, (whole, precision?: string, clause?: string) => {
    if (whole === "%%") return "%";
    if (clause === undefined) throw new CelError("unexpected end of string");
    if (used >= args.size) throw new CelError(`index ${used} out of range`);
    return formatClause(clause, args.at(used++), precision);
  });
  if (used < args.size) {
    const counts = `expected ${used}, got ${args.size}`;
    throw new CelError(`too many arguments supplied to string.format (${counts})`);
  }
  return text;
}

function formatClause(clause: string, value: Value, precision: string | undefined): string {
  switch (clause) {
    case "s":
      return showValue(value);
    case "d":
      return special(value) ?? integerOf(value, "integer").toString();
    case "f":
      return (
        special(value) ?? fixedPoint(numberOf(value, "fixed-point"), Number(precision ?? PRECISION))
      );
    case "e":
      return special(value) ?? exponential(numberOf(value, "scientific notation"), precision);
    case "b":
      if (typeof value === "boolean") return value ? "1" : "0";
      return integerOf(value, "binary").toString(2);
    case "o":
      return integerOf(value, "octal").toString(8);
    case "x":
      return hex(value);
    case "X":
      return hex(value).toUpperCase();
    default: {
      const detail = `unrecognized formatting clause "${clause}"`;
      throw new CelError(`could not parse formatting clause: ${detail}`);
    }
  }
}

/** Rounds half to even, unlike JavaScript's toFixed. */
function fixedPoint(value: number, precision: number): string {
  const exact = value.toFixed(Math.min(precision + 60, 100));
  const cut = exact.length - (Math.min(precision + 60, 100) - precision);
  const isHalf = /^50*$/.test(exact.slice(cut).replace(".", ""));
  const down = exact.slice(0, cut).replace(/\.$/, "");
  const isEven = "02468".includes(down.at(-1)!);
  return isHalf && isEven ? down : value.toFixed(precision);
}

function exponential(value: number, precision: string | undefined): string {
  return value.toExponential(Number(precision ?? PRECISION)).replace(/e([+-])(\d)$/, "e$10$2");
}

/** Not a number and the infinities are words in every numeric clause. */
function special(value: Value): string | undefined {
  if (typeof value !== "number" && typeof value !== "string") return undefined;
  const text = typeof value === "number" ? showNumber(value) : value;
  return ["NaN", "Infinity", "-Infinity"].includes(text) ? text : undefined;
}

function integerOf(value: Value, clause: string): bigint {
  if (typeof value === "bigint") return value;
  if (value instanceof Uint) return value.value;
  const wanted = clause === "integer" ? "integers" : "integers and bools";
  const allowed = clause === "octal" ? "integers" : wanted;
  const detail = `${clause} clause can only be used on ${allowed}, was given ${typeOf(value).name}`;
  throw new CelError(`error during formatting: ${detail}`);
}

function numberOf(value: Value, clause: string): number {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  if (value instanceof Uint) return Number(value.value);
  const detail = `${clause} clause can only be used on doubles, was given ${typeOf(value).name}`;
  throw new CelError(`error during formatting: ${detail}`);
}

function hex(value: Value): string {
  if (typeof value === "bigint") return value.toString(16);
  if (value instanceof Uint) return value.value.toString(16);
  const bytes = typeof value === "string" ? new TextEncoder().encode(value) : value;
  if (bytes instanceof Uint8Array) {
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }
  const detail = `only integers, byte buffers, and strings can be formatted as hex, was given ${typeOf(value).name}`;
  throw new CelError(`error during formatting: ${detail}`);
}

function showNumber(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "Infinity" : "-Infinity";
  return String(value);
}

function showValue(value: Value): string {
  switch (typeof value) {
    case "string":
      return value;
    case "boolean":
    case "bigint":
      return String(value);
    case "number":
      return showNumber(value);
    default:
      return showObject(value);
  }
}

function showObject(value: Exclude<Value, string | boolean | bigint | number>): string {
  if (value === null) return "null";
  if (value instanceof Uint) return value.value.toString();
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (value instanceof Timestamp) return showTimestamp(value);
  if (value instanceof Duration) return showDuration(value);
  if (value instanceof TypeValue) return value.type.name;
  if (value instanceof CelList) return `[${[...value].map(showValue).join(", ")}]`;
  if (value instanceof CelMap) {
    const entries = Array.from(value.keys(), (key) => {
      return `${showValue(key)}: ${showValue(value.find(key)!)}`;
    });
    return `{${entries.sort().join(", ")}}`;
  }
  const detail = `string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given ${typeOf(value).name}`;
  throw new CelError(`error during formatting: ${detail}`);
}
