/**
 * The normal forms of single values, for the generated normalizers. Each helper gives the canonical
 * value or throws `UNUSUAL`, which is no error but the way out of the quick path.
 */
import { formatDuration, parseDuration } from "#api/meta/duration.ts";
import { canonicalQuantity } from "#api/meta/quantity.ts";
import {
  formatMicroTime,
  formatTime,
  isZeroTime,
  type ParsedTime,
  parseMicroTime,
  parseTime,
} from "#api/meta/time.ts";

export const UNUSUAL: unique symbol = Symbol("unusual");

/** Keys seen since it was last set to zero. Synchronous use only. */
export const tally = {
  keys: 0,
  /** Whether someone wants to know: only then is free JSON looked at. */
  isWanted: true,
};

const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);

/** Whole numbers beyond 2^53 are bigints, all others numbers. */
export function int64(value: unknown): number | bigint {
  if (Number.isSafeInteger(value)) return value as number;
  if (typeof value !== "bigint" || value > INT64_MAX || value < INT64_MIN) throw UNUSUAL;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

export function quantity(value: unknown): string {
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text !== "string") throw UNUSUAL;
  const known = quantities.get(text);
  if (known !== undefined) return known;
  const canonical = canonicalQuantity(text.trim());
  if (canonical === undefined) throw UNUSUAL;
  if (quantities.size >= QUANTITIES_MAX) quantities.clear();
  quantities.set(text, canonical);
  return canonical;
}

// The same few texts ("100m", "64Mi") come again and again.
const QUANTITIES_MAX = 1000;
const quantities = new Map<string, string>();

/** Canonical already, on a day that every month has. */
const DAY_AND_TIME =
  "[12]\\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d";
const PLAIN_TIME = new RegExp(`^${DAY_AND_TIME}Z$`);
const PLAIN_MICRO_TIME = new RegExp(`^${DAY_AND_TIME}\\.\\d{6}Z$`);

/** null stands for Go's zero time. */
export function time(value: unknown): string | null {
  if (value === null) return null;
  if (typeof value !== "string") throw UNUSUAL;
  return PLAIN_TIME.test(value) ? value : formatted(parseTime(value), formatTime);
}

export function microTime(value: unknown): string | null {
  if (value === null) return null;
  if (typeof value !== "string") throw UNUSUAL;
  return PLAIN_MICRO_TIME.test(value) ? value : formatted(parseMicroTime(value), formatMicroTime);
}

function formatted(
  parsed: ParsedTime,
  format: (instant: { seconds: number; nanos: number }) => string,
): string | null {
  if (!parsed.ok) throw UNUSUAL;
  return isZeroTime(parsed.value) ? null : format(parsed.value);
}

export function duration(value: unknown): string {
  const parsed = typeof value === "string" ? parseDuration(value) : undefined;
  if (!parsed?.ok) throw UNUSUAL;
  return formatDuration(parsed.nanos);
}

/** Whole groups of four, and no stray bits in the last one. */
const BASE64 =
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/;

export function base64(value: unknown): string {
  if (typeof value !== "string" || !BASE64.test(value)) throw UNUSUAL;
  return value;
}

export function sortedKeys(value: unknown): string[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw UNUSUAL;
  const keys = Object.keys(value);
  tally.keys += keys.length;
  for (let i = 1; i < keys.length; i++) {
    if (keys[i - 1]! > keys[i]!) return keys.sort();
  }
  return keys;
}

/** Sets a key that plain assignment would take for the prototype. */
export function define(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}

/** Counts the keys inside; the value itself is free. */
export function freeJson(value: unknown): void {
  if (typeof value !== "object" || value === null || !tally.isWanted) return;
  if (Array.isArray(value)) {
    for (const item of value) freeJson(item);
    return;
  }
  for (const key in value) {
    tally.keys++;
    freeJson((value as Record<string, unknown>)[key]);
  }
}
