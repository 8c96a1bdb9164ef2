/**
 * Schedules of CronJobs: five fields (minute, hour, day of month, month, day of week), a descriptor
 * such as `@daily`, or `@every 90m`; a `TZ=` in front is still read. The words of errors are those
 * that clients know.
 */
import { parseDuration } from "#api/meta/duration.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { isTimeZone } from "./time-zone.ts";

export type Schedule =
  | {
      readonly kind: "fields";
      readonly minutes: Field;
      readonly hours: Field;
      readonly daysOfMonth: Field;
      readonly months: Field;
      readonly daysOfWeek: Field;
      readonly timeZone?: string;
    }
  | { readonly kind: "every"; readonly everyNanos: bigint };

/** The values that match; `any` for a star, which leaves the choice of days to the other field. */
export interface Field {
  readonly values: ReadonlySet<number>;
  readonly any: boolean;
}

export type ParsedSchedule =
  | { readonly ok: true; readonly value: Schedule }
  | { readonly ok: false; readonly error: string };

export function parseSchedule(text: string): ParsedSchedule {
  try {
    return { ok: true, value: parse(text) };
  } catch (error) {
    if (error instanceof ScheduleError) return { ok: false, error: error.message };
    throw error;
  }
}

class ScheduleError extends Error {}

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const BOUNDS: readonly Bounds[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: MONTHS },
  { min: 0, max: 6, names: DAYS },
];
const DESCRIPTORS: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};
const EVERY = "@every ";
const INT_MAX = 2n ** 63n - 1n;

function parse(text: string): Schedule {
  if (text === "") throw new ScheduleError("empty spec string");
  if (!text.startsWith("TZ=") && !text.startsWith("CRON_TZ=")) return parseRest(text);
  const end = text.indexOf(" ");
  if (end < 0) {
    throw new ScheduleError(
      "invalid schedule format: runtime error: slice bounds out of range [:-1]",
    );
  }
  const timeZone = text.slice(text.indexOf("=") + 1, end);
  if (timeZone !== "" && !isTimeZone(timeZone)) {
    throw new ScheduleError(`provided bad location ${timeZone}: unknown time zone ${timeZone}`);
  }
  const schedule = parseRest(text.slice(end).trim());
  return schedule.kind === "every" ? schedule : { ...schedule, timeZone };
}

function parseRest(text: string): Schedule {
  if (!text.startsWith("@")) return parseFields(text);
  const fields = DESCRIPTORS[text];
  if (fields !== undefined) return parseFields(fields);
  if (!text.startsWith(EVERY)) throw new ScheduleError(`unrecognized descriptor: ${text}`);
  const duration = parseDuration(text.slice(EVERY.length));
  if (!duration.ok) throw new ScheduleError(`failed to parse duration ${text}: ${duration.error}`);
  return { kind: "every", everyNanos: duration.nanos };
}

function parseFields(text: string): Schedule {
  const fields = text.split(/\s+/).filter((field) => field !== "");
  if (fields.length !== BOUNDS.length) {
    throw new ScheduleError(
      `expected exactly ${BOUNDS.length} fields, found ${fields.length}: [${fields.join(" ")}]`,
    );
  }
  const [minutes, hours, daysOfMonth, months, daysOfWeek] = fields.map((field, i) =>
    parseField(field, BOUNDS[i]!),
  ) as [Field, Field, Field, Field, Field];
  return { kind: "fields", minutes, hours, daysOfMonth, months, daysOfWeek };
}

function parseField(text: string, bounds: Bounds): Field {
  const ranges = text.split(",").filter((part) => part !== "");
  const parsed = ranges.map((range) => parseRange(range, bounds));
  return {
    values: new Set(parsed.flatMap(({ values }) => values)),
    any: parsed.some(({ any }) => any),
  };
}

/** `*`, `7` or `1-5`, with a step behind a slash if wanted: `7/2`. */
function parseRange(text: string, { min, max, names }: Bounds) {
  const [range = "", stepText, ...tooMany] = text.split("/");
  const limits = range.split("-");
  const any = limits[0] === "*" || limits[0] === "?";
  let start = min;
  let end = max;
  if (!any) {
    start = parseNumberOrName(limits[0]!, names);
    if (limits.length > 2) throw new ScheduleError(`too many hyphens: ${text}`);
    end = limits.length === 2 ? parseNumberOrName(limits[1]!, names) : start;
  }
  if (tooMany.length > 0) throw new ScheduleError(`too many slashes: ${text}`);
  const step = stepText === undefined ? 1 : parseNumber(stepText);
  if (stepText !== undefined && limits.length === 1) end = max;
  if (start < min) {
    throw new ScheduleError(`beginning of range (${start}) below minimum (${min}): ${text}`);
  }
  if (end > max) {
    throw new ScheduleError(`end of range (${end}) above maximum (${max}): ${text}`);
  }
  if (start > end) {
    throw new ScheduleError(`beginning of range (${start}) beyond end of range (${end}): ${text}`);
  }
  if (step === 0) {
    throw new ScheduleError(`step of range should be a positive number: ${text}`);
  }
  const values: number[] = [];
  for (let value = start; value <= end; value += step) values.push(value);
  return { values, any: any && step === 1 };
}

function parseNumberOrName(text: string, names: Bounds["names"]): number {
  const i = names?.indexOf(text.toLowerCase()) ?? -1;
  if (i < 0) return parseNumber(text);
  return names === MONTHS ? i + 1 : i;
}

function parseNumber(text: string): number {
  const fail = (why: string) =>
    new ScheduleError(
      `failed to parse int from ${text}: strconv.Atoi: parsing ${goQuote(text)}: ${why}`,
    );
  if (!/^[-+]?[0-9]+$/.test(text)) throw fail("invalid syntax");
  const number = BigInt(text.replace(/^\+/, ""));
  if (number > INT_MAX || number < -INT_MAX - 1n) throw fail("value out of range");
  if (number < 0n) throw new ScheduleError(`negative number (${number}) not allowed: ${text}`);
  return Number(number);
}
