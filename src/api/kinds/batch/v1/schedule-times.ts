/**
 * When a schedule comes round. A schedule of fields names the minutes whose wall clock matches all of
 * them: a time that a change of clocks leaves out does not come, one that it repeats comes twice.
 */
import type { Field, Schedule } from "./schedule.ts";
import { utcOffsetMs } from "./time-zone.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** A schedule that has no time for so long (30 February) has none at all. */
const YEARS_MAX = 5;

type FieldSchedule = Extract<Schedule, { kind: "fields" }>;

/** The first time after an instant; undefined if there is none in sight. */
export function nextTimeMs(schedule: Schedule, afterMs: number): number | undefined {
  if (schedule.kind === "every") {
    const everySeconds = Math.max(1, Math.floor(Number(schedule.everyNanos) / 1e9));
    return Math.floor(afterMs / SECOND_MS) * SECOND_MS + everySeconds * SECOND_MS;
  }
  return nextMatch(schedule, afterMs);
}

function nextMatch(schedule: FieldSchedule, afterMs: number): number | undefined {
  const offsetAt = utcOffsetMs(schedule.timeZone ?? "");
  let atMs = (Math.floor(afterMs / MINUTE_MS) + 1) * MINUTE_MS;
  const lastYear = new Date(atMs + offsetAt(atMs)).getUTCFullYear() + YEARS_MAX;
  for (;;) {
    const offsetMs = offsetAt(atMs);
    const wall = new Date(atMs + offsetMs); // its UTC fields are those of the wall clock
    const year = wall.getUTCFullYear();
    if (year > lastYear) return undefined;
    const month = wall.getUTCMonth();
    if (!has(schedule.months, month + 1)) {
      atMs = instantOf(Date.UTC(year, month + 1, 1), offsetMs, offsetAt);
    } else if (!isDay(schedule, wall)) {
      const midnight = Math.floor(wall.getTime() / DAY_MS) * DAY_MS + DAY_MS;
      atMs = instantOf(midnight, offsetMs, offsetAt);
    } else if (!has(schedule.hours, wall.getUTCHours())) {
      atMs += (60 - wall.getUTCMinutes()) * MINUTE_MS;
    } else if (!has(schedule.minutes, wall.getUTCMinutes())) {
      atMs += MINUTE_MS;
    } else {
      return atMs;
    }
  }
}

/** If both name days, either will do; a star leaves it to the other. */
function isDay({ daysOfMonth, daysOfWeek }: FieldSchedule, wall: Date): boolean {
  const ofMonth = has(daysOfMonth, wall.getUTCDate());
  const ofWeek = has(daysOfWeek, wall.getUTCDay());
  return daysOfMonth.any || daysOfWeek.any ? ofMonth && ofWeek : ofMonth || ofWeek;
}

function has({ values }: Field, value: number): boolean {
  return values.has(value);
}

/** The first instant at which a wall clock shows this or, where it jumps over it, what comes next. */
function instantOf(wallMs: number, offsetMs: number, offsetAt: (atMs: number) => number): number {
  const guess = wallMs - offsetMs;
  const there = offsetAt(guess);
  if (there === offsetMs) return guess;
  const other = wallMs - there;
  return offsetAt(other) === there ? other : Math.max(guess, other);
}
