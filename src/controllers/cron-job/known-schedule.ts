/**
 * Since when a CronJob has had the schedule it has. Times that a new schedule would have had before it
 * was set were never missed, so they are not made up for. A schedule seen for the first time counts as
 * having been there always.
 */
import type { CronJob } from "#api/generated/batch.v1.ts";

export interface KnownSchedule {
  readonly uid: string;
  readonly schedule: string;
  readonly sinceMs: number;
}

export function scheduleNow(
  known: KnownSchedule | undefined,
  { metadata, spec }: CronJob,
  nowMs: number,
): KnownSchedule {
  const { uid = "" } = metadata;
  const schedule = `${spec.timeZone ?? ""} ${spec.schedule}`;
  if (known?.uid !== uid) return { uid, schedule, sinceMs: Number.NEGATIVE_INFINITY };
  return known.schedule === schedule ? known : { uid, schedule, sinceMs: nowMs };
}
