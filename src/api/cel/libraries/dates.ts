/** Parts of timestamps and durations. */
import type { Implementation } from "../library.ts";
import { type DateParts, datePartsOf } from "../values/time.ts";
import type { Duration, Timestamp } from "../values/value.ts";

const PARTS: readonly (readonly [
  name: string,
  id: string,
  tz: string,
  part: (parts: DateParts) => number,
])[] = [
  ["getFullYear", "year", "_with_tz", ({ year }) => year],
  ["getMonth", "month", "_with_tz", ({ month }) => month],
  ["getDayOfYear", "day_of_year", "_with_tz", ({ yearday }) => yearday],
  ["getDayOfMonth", "day_of_month", "_with_tz", ({ day }) => day - 1],
  ["getDate", "day_of_month_1_based", "_with_tz", ({ day }) => day],
  ["getDayOfWeek", "day_of_week", "_with_tz", ({ weekday }) => weekday],
  ["getHours", "hours", "_with_tz", ({ hours }) => hours],
  ["getMinutes", "minutes", "_with_tz", ({ minutes }) => minutes],
  ["getSeconds", "seconds", "_tz", ({ seconds }) => seconds],
  ["getMilliseconds", "milliseconds", "_with_tz", ({ millis }) => millis],
];

export const DATE_FUNCTIONS: Readonly<Record<string, Implementation>> = {
  ...Object.fromEntries(
    PARTS.flatMap(([name, id, tz, part]) => [
      [
        `timestamp_to_${id} timestamp.${name}() -> int`,
        (time: Timestamp) => BigInt(part(datePartsOf(time, undefined))),
      ],
      [
        `timestamp_to_${id}${tz} timestamp.${name}(string) -> int`,
        (time: Timestamp, zone: string) => BigInt(part(datePartsOf(time, zone))),
      ],
    ]),
  ),
  "duration_to_hours duration.getHours() -> int": ({ nanos }: Duration) =>
    nanos / 3_600_000_000_000n,
  "duration_to_minutes duration.getMinutes() -> int": ({ nanos }: Duration) =>
    nanos / 60_000_000_000n,
  "duration_to_seconds duration.getSeconds() -> int": ({ nanos }: Duration) =>
    nanos / 1_000_000_000n,
  "duration_to_milliseconds duration.getMilliseconds() -> int": ({ nanos }: Duration) =>
    (nanos / 1_000_000n) % 1000n,
};
