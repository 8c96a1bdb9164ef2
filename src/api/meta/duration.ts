/**
 * Durations: Go's notation ("1h30m0s"), exact in nanoseconds, and the short one of tables ("3m10s").
 */
import { goTimeQuote } from "./go-quote.ts";

export type ParsedDuration =
  | { readonly ok: true; readonly nanos: bigint }
  | { readonly ok: false; readonly error: string };

const NANOS_LIMIT = 2n ** 63n;
/** Bounds the parsing; Go has no limit. */
const LENGTH_MAX = 1_000;
const UNITS: ReadonlyMap<string, bigint> = new Map([
  ["ns", 1n],
  ["us", 1_000n],
  ["\u00b5s", 1_000n], // micro sign
  ["\u03bcs", 1_000n], // Greek mu
  ["ms", 1_000_000n],
  ["s", 1_000_000_000n],
  ["m", 60_000_000_000n],
  ["h", 3_600_000_000_000n],
]);

export function parseDuration(text: string): ParsedDuration {
  const signed = text.startsWith("-") || text.startsWith("+");
  const rest = signed ? text.slice(1) : text;
  if (rest === "0") return { ok: true, nanos: 0n };
  const invalid = (): ParsedDuration => ({
    ok: false,
    error: `time: invalid duration ${goTimeQuote(text)}`,
  });
  if (rest === "" || text.length > LENGTH_MAX) return invalid();

  let total = 0n;
  for (let at = 0; at < rest.length; ) {
    const [number = "", whole = "", fraction] = matchAt(NUMBER, rest, at);
    if (number === "" || number === ".") return invalid();
    const [unitName = ""] = matchAt(UNIT, rest, at + number.length);
    if (overflows(whole)) return invalid();
    if (unitName === "") {
      return { ok: false, error: `time: missing unit in duration ${goTimeQuote(text)}` };
    }
    const unit = UNITS.get(unitName);
    if (unit === undefined) {
      const error = `time: unknown unit ${goTimeQuote(unitName)} in duration ${goTimeQuote(text)}`;
      return { ok: false, error };
    }
    total += BigInt(whole) * unit + fractionOf(fraction ?? "", unit);
    if (total > NANOS_LIMIT) return invalid();
    at += number.length + unitName.length;
  }
  if (text.startsWith("-")) return { ok: true, nanos: -total };
  return total === NANOS_LIMIT ? invalid() : { ok: true, nanos: total };
}

export function formatDuration(nanos: bigint): string {
  if (nanos === 0n) return "0s";
  const sign = nanos < 0n ? "-" : "";
  const size = nanos < 0n ? -nanos : nanos;
  if (size < 1_000n) return `${sign}${size}ns`;
  if (size < 1_000_000n) return `${sign}${withFraction(size, 1_000n, 3)}\u00b5s`;
  if (size < 1_000_000_000n) return `${sign}${withFraction(size, 1_000_000n, 6)}ms`;
  const minutes = size / 60_000_000_000n;
  const seconds = `${withFraction(size % 60_000_000_000n, 1_000_000_000n, 9)}s`;
  if (minutes === 0n) return sign + seconds;
  if (minutes < 60n) return `${sign}${minutes}m${seconds}`;
  return `${sign}${minutes / 60n}h${minutes % 60n}m${seconds}`;
}

/** Two or three significant figures for people: the AGE column. */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / 1000);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 10) return two(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return two(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (days < 8) return two(days, "d", hours % 24, "h");
  if (days < 365 * 2) return `${days}d`;
  const years = Math.trunc(days / 365);
  return years < 8 ? two(years, "y", days % 365, "d") : `${years}y`;
}

const NUMBER = /([0-9]*)(?:\.([0-9]*))?/y;
const UNIT = /[^0-9.]*/y;

function matchAt(pattern: RegExp, text: string, at: number): readonly string[] {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? [];
}

function overflows(digits: string): boolean {
  const significant = digits.replace(/^0+/, "");
  return significant.length > 19 || BigInt(significant) > NANOS_LIMIT;
}

/** Digits that do not fit 63 bits are ignored; the rest passes through a float, as in Go. */
function fractionOf(digits: string, unit: bigint): bigint {
  let kept = digits.slice(0, 19);
  while (BigInt(kept) > NANOS_LIMIT - 1n) kept = kept.slice(0, -1);
  return BigInt(Math.trunc(Number(kept) * (Number(unit) / 10 ** kept.length)));
}

function withFraction(size: bigint, unit: bigint, digits: number): string {
  const fraction = (size % unit).toString().padStart(digits, "0").replace(/0+$/, "");
  return fraction === "" ? `${size / unit}` : `${size / unit}.${fraction}`;
}

function two(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}
