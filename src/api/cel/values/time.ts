/** Timestamps and durations: their texts, limits and parts. */

import { utcMs, zoneOffset } from "#lib/time/zone-offset.ts";
import { CelError, Duration, Timestamp } from "./value.ts";

const NANOS = 1_000_000_000n;
const MIN_SECONDS = -62_135_596_800n; // 0001-01-01T00:00:00Z
const MAX_SECONDS = 253_402_300_799n; // 9999-12-31T23:59:59Z
const MAX_INT64 = 2n ** 63n - 1n;
const MIN_INT64 = -(2n ** 63n);

export function timestamp(nanos: bigint): Timestamp {
  const seconds = floorDiv(nanos, NANOS);
  if (seconds < MIN_SECONDS || seconds > MAX_SECONDS) throw new CelError("timestamp overflow");
  return new Timestamp(nanos);
}

export function duration(nanos: bigint): Duration {
  if (nanos > MAX_INT64 || nanos < MIN_INT64) throw new CelError("duration overflow");
  return new Duration(nanos);
}

const RFC3339 =
  /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/** Undefined if the text is no RFC 3339 time. */
export function parseTimestamp(text: string): Timestamp | undefined {
  const match = RFC3339.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second] = match.map(Number) as number[];
  const [fraction = "", sign, zoneHour = "0", zoneMinute = "0"] = match.slice(7);
  const ms = utcMs(year!, month! - 1, day!, hour!, minute!, second!);
  const date = new Date(ms);
  const isReal =
    date.getUTCMonth() === month! - 1 &&
    date.getUTCDate() === day &&
    hour! < 24 &&
    minute! < 60 &&
    second! < 60 &&
    Number(zoneHour) < 24 &&
    Number(zoneMinute) < 60;
  if (!isReal) return undefined;
  const zone = (Number(zoneHour) * 60 + Number(zoneMinute)) * (sign === "-" ? -60 : 60);
  const nanos = BigInt(fraction.slice(0, 9).padEnd(9, "0"));
  const seconds = BigInt(ms / 1000 - zone);
  if (seconds < MIN_SECONDS || seconds > MAX_SECONDS) return undefined;
  return new Timestamp(seconds * NANOS + nanos);
}

export function showTimestamp({ nanos }: Timestamp): string {
  const seconds = floorDiv(nanos, NANOS);
  const date = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  return `${date}${showFraction(nanos - seconds * NANOS)}Z`;
}

const UNITS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1000n,
  µs: 1000n,
  μs: 1000n,
  ms: 1_000_000n,
  s: NANOS,
  m: 60n * NANOS,
  h: 3600n * NANOS,
};
const PART = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/y;

/** Undefined if the text is no duration as Go writes them. */
export function parseDuration(text: string): Duration | undefined {
  const sign = /^[+-]/.test(text) ? text[0] : "";
  const body = sign === "" ? text : text.slice(1);
  if (body === "0") return new Duration(0n);
  let nanos = 0n;
  let at = 0;
  while (at < body.length || at === 0) {
    PART.lastIndex = at;
    const match = PART.exec(body);
    if (match === null) return undefined;
    const [part, whole = "", fraction = "", unit] = match;
    if (whole === "" && fraction === "") return undefined;
    const scale = UNITS[unit!]!;
    nanos += BigInt(whole === "" ? 0 : whole) * scale;
    if (fraction !== "") nanos += (BigInt(fraction) * scale) / 10n ** BigInt(fraction.length);
    at += part.length;
  }
  if (sign === "-") nanos = -nanos;
  return nanos > MAX_INT64 || nanos < MIN_INT64 ? undefined : new Duration(nanos);
}

/** Seconds with as many decimals as needed, as CEL converts durations to strings. */
export function showDuration({ nanos }: Duration): string {
  const size = nanos < 0n ? -nanos : nanos;
  const text = `${size / NANOS}${showFraction(size % NANOS)}s`;
  return nanos < 0n ? `-${text}` : text;
}

export interface DateParts {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly weekday: number;
  readonly yearday: number;
  readonly hours: number;
  readonly minutes: number;
  readonly seconds: number;
  readonly millis: number;
}

/** In a zone given as an offset (`+02:00`) or a name; UTC without. */
export function datePartsOf({ nanos }: Timestamp, zone: string | undefined): DateParts {
  const ms = Number(floorDiv(nanos, 1_000_000n));
  const date = new Date(ms + (zone === undefined ? 0 : zoneOffsetMs(ms, zone)));
  const year = date.getUTCFullYear();
  return {
    year,
    month: date.getUTCMonth(),
    day: date.getUTCDate(),
    weekday: date.getUTCDay(),
    yearday: Math.floor((date.getTime() - utcMs(year, 0, 1, 0, 0, 0)) / 86_400_000),
    hours: date.getUTCHours(),
    minutes: date.getUTCMinutes(),
    seconds: date.getUTCSeconds(),
    millis: date.getUTCMilliseconds(),
  };
}

const OFFSET = /^([+-]?)(\d{1,2}):(\d{2})$/;

function zoneOffsetMs(ms: number, zone: string): number {
  const offset = OFFSET.exec(zone);
  if (offset !== null) {
    const [, sign, hours, minutes] = offset;
    return (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === "-" ? -1 : 1);
  }
  return namedZoneOffset(zone)(ms);
}

function namedZoneOffset(zone: string): (atMs: number) => number {
  try {
    return zoneOffset(zone === "" ? "UTC" : zone);
  } catch {
    throw new CelError(`unknown time zone ${zone}`);
  }
}

function showFraction(nanos: bigint): string {
  if (nanos === 0n) return "";
  return `.${nanos.toString().padStart(9, "0").replace(/0+$/, "")}`;
}

function floorDiv(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return a % b < 0n ? quotient - 1n : quotient;
}
