/**
 * Points in time as the API writes them: RFC 3339 in UTC with whole seconds (Time) or six decimals
 * (MicroTime). Parsing accepts and refuses what Go's time package does, in its words: an hour may
 * have one digit, a Time may carry a fraction, a MicroTime must have exactly six decimals.
 *
 * Go's zero time, 0001-01-01T00:00:00Z, means "not set"; JSON shows it as null (`isZeroTime`).
 */
import { goTimeQuote } from "./go-quote.ts";

export interface Instant {
  /** Since 1970. */
  readonly seconds: number;
  readonly nanos: number;
}

export type ParsedTime =
  | { readonly ok: true; readonly value: Instant }
  | { readonly ok: false; readonly error: string };

const TIME_LAYOUT = "2006-01-02T15:04:05Z07:00";
const MICRO_TIME_LAYOUT = "2006-01-02T15:04:05.000000Z07:00";
/** As far as a Date reaches; what lies beyond is shown as its end. */
const DATE_SECONDS_MAX = 8.64e12;
const ZERO_SECONDS = -62_135_596_800;

export function parseTime(text: string): ParsedTime {
  return parse(text, TIME_LAYOUT, false);
}

export function parseMicroTime(text: string): ParsedTime {
  return parse(text, MICRO_TIME_LAYOUT, true);
}

export function formatTime({ seconds }: Instant): string {
  return `${dateAndTime(seconds)}Z`;
}

export function formatMicroTime({ seconds, nanos }: Instant): string {
  const micros = Math.floor(nanos / 1000);
  return `${dateAndTime(seconds)}.${String(micros).padStart(6, "0")}Z`;
}

export function isZeroTime({ seconds, nanos }: Instant): boolean {
  return seconds === ZERO_SECONDS && nanos === 0;
}

/** The Time text of an instant in milliseconds since 1970. */
export function timeFromMs(ms: number): string {
  return formatTime(instantFromMs(ms));
}

export function microTimeFromMs(ms: number): string {
  return formatMicroTime(instantFromMs(ms));
}

/** Milliseconds since 1970 of a Time or MicroTime that was checked before. */
export function timeToMs(text: string): number {
  return Date.parse(text);
}

function instantFromMs(ms: number): Instant {
  const seconds = Math.floor(ms / 1000);
  return { seconds, nanos: Math.floor((ms - seconds * 1000) * 1e6) };
}

/** A step of the layout: what it reads, and what an error calls it. */
class Reader {
  rest: string;
  readonly #text: string;
  readonly #layout: string;

  constructor(text: string, layout: string) {
    this.#text = text;
    this.rest = text;
    this.#layout = layout;
  }

  /** Reads what the pattern says at the front, or fails naming the layout's element. */
  take(pattern: RegExp, element: string): string {
    const found = pattern.exec(this.rest)?.[0];
    if (found === undefined) throw this.mismatch(element);
    this.rest = this.rest.slice(found.length);
    return found;
  }

  number(pattern: RegExp, element: string, limits: Limits): number {
    const value = Number(this.take(pattern, element));
    if (value < limits.min || value > limits.max) throw this.outOfRange(limits.name);
    return value;
  }

  mismatch(element: string): TimeError {
    const [text, layout] = [goTimeQuote(this.#text), goTimeQuote(this.#layout)];
    const [rest, wanted] = [goTimeQuote(this.rest), goTimeQuote(element)];
    return new TimeError(`parsing time ${text} as ${layout}: cannot parse ${rest} as ${wanted}`);
  }

  outOfRange(name: string): TimeError {
    return new TimeError(`parsing time ${goTimeQuote(this.#text)}: ${name} out of range`);
  }

  extraText(): TimeError {
    const [text, rest] = [goTimeQuote(this.#text), goTimeQuote(this.rest)];
    return new TimeError(`parsing time ${text}: extra text: ${rest}`);
  }
}

interface Limits {
  readonly name: string;
  readonly min: number;
  readonly max: number;
}

class TimeError extends Error {}

const MONTH: Limits = { name: "month", min: 1, max: 12 };
const ANY_DAY: Limits = { name: "day", min: 0, max: 99 }; // checked against the month at the end
const HOUR: Limits = { name: "hour", min: 0, max: 23 };
const MINUTE: Limits = { name: "minute", min: 0, max: 59 };
const SECOND: Limits = { name: "second", min: 0, max: 59 };
const TWO_DIGITS = /^[0-9]{2}/;

/** What the API itself writes, on a day that every month has. */
const USUAL = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/;

function parse(text: string, layout: string, micro: boolean): ParsedTime {
  if (!micro && USUAL.test(text)) {
    return { ok: true, value: { seconds: Date.parse(text) / 1000, nanos: 0 } };
  }
  try {
    return { ok: true, value: read(new Reader(text, layout), micro) };
  } catch (error) {
    if (error instanceof TimeError) return { ok: false, error: error.message };
    throw error;
  }
}

function read(reader: Reader, micro: boolean): Instant {
  const year = Number(reader.take(/^[0-9]{4}/, "2006"));
  reader.take(/^-/, "-");
  const month = reader.number(TWO_DIGITS, "01", MONTH);
  reader.take(/^-/, "-");
  const day = reader.number(TWO_DIGITS, "02", ANY_DAY);
  reader.take(/^T/, "T");
  const hour = reader.number(/^[0-9]{1,2}/, "15", HOUR);
  reader.take(/^:/, ":");
  const minute = reader.number(TWO_DIGITS, "04", MINUTE);
  reader.take(/^:/, ":");
  const second = reader.number(TWO_DIGITS, "05", SECOND);
  const nanos = readFraction(reader, micro);
  const offset = readOffset(reader);
  if (reader.rest !== "") throw reader.extraText();
  if (day < 1 || day > daysIn(year, month)) throw reader.outOfRange("day");
  const seconds = daysSince1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
  return { seconds: seconds - offset, nanos };
}

function readFraction(reader: Reader, micro: boolean): number {
  if (!micro && !/^[.,][0-9]/.test(reader.rest)) return 0;
  const fraction = reader.take(micro ? /^[.,][0-9]{6}/ : /^[.,][0-9]+/, ".000000");
  return Number(fraction.slice(1, 10).padEnd(9, "0"));
}

/** Seconds east of Greenwich. */
function readOffset(reader: Reader): number {
  if (reader.rest.startsWith("Z")) {
    reader.rest = reader.rest.slice(1);
    return 0;
  }
  const zone = /^([-+])([0-9]{2}):([0-9]{2})/.exec(reader.rest);
  if (zone === null) throw reader.mismatch("Z07:00");
  const [hours, minutes] = [Number(zone[2]), Number(zone[3])];
  if (minutes > 60) throw reader.outOfRange("time zone offset minute");
  if (hours > 24) throw reader.outOfRange("time zone offset hour");
  reader.rest = reader.rest.slice(6);
  return (zone[1] === "-" ? -1 : 1) * (hours * 3600 + minutes * 60);
}

function daysIn(year: number, month: number): number {
  if (month === 2) return isLeap(year) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

function isLeap(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

function daysSince1970(year: number, month: number, day: number): number {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day); // Date.UTC would take years below 100 for 19xx
  return date.getTime() / 86_400_000;
}

function dateAndTime(seconds: number): string {
  if (seconds !== latest.seconds) latest = { seconds, text: writtenOut(seconds) };
  return latest.text;
}

// Memory of a pure result: every write asks for the present second, some of them several times.
let latest = { seconds: Number.NaN, text: "" };

function writtenOut(seconds: number): string {
  const inRange = Math.max(-DATE_SECONDS_MAX, Math.min(DATE_SECONDS_MAX, seconds));
  const iso = new Date(inRange * 1000).toISOString();
  if (!/^[-+]/.test(iso)) return iso.slice(0, 19);
  // Years below 0 and above 9999, which a zone offset can bring about.
  const year = Number(iso.slice(0, 7));
  return (year < 0 ? `-${String(-year).padStart(4, "0")}` : String(year)) + iso.slice(7, 22);
}
