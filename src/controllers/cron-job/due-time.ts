/**
 * Which start of a CronJob is due, and when to look again. Of several starts that were missed only
 * the latest is made up for; how many there were is estimated from the distance of the first two.
 */

import type { CronJob } from "#api/generated/batch.v1.ts";
import type { Schedule } from "#api/kinds/batch/v1/schedule.ts";
import { nextTimeMs } from "#api/kinds/batch/v1/schedule-times.ts";
import { timeToMs } from "#api/meta/time.ts";

const MISSED_MANY = 100;
/** Clocks differ: rather a little late than a little early. */
const PADDING_MS = 100;

export type Due =
  | { readonly kind: "none"; readonly sinceMs: number }
  | { readonly kind: "start"; readonly atMs: number; readonly missedMany: boolean }
  /** Some were missed, but the estimate finds none to make up for. */
  | { readonly kind: "passed" }
  | { readonly kind: "never" };

/** Looks back to the last start or the creation, but not beyond the deadline for late starts. */
export function dueStart(
  cronJob: CronJob,
  schedule: Schedule,
  scheduledSinceMs: number,
  nowMs: number,
): Due {
  const { startingDeadlineSeconds = Number.POSITIVE_INFINITY } = cronJob.spec;
  const deadlineMs = nowMs - startingDeadlineSeconds * 1000;
  const sinceMs = Math.max(lastStartMs(cronJob), scheduledSinceMs, deadlineMs);
  return dueSince(schedule, sinceMs, nowMs);
}

/** How long until the next start comes. */
export function nextStartInMs(
  cronJob: CronJob,
  schedule: Schedule,
  scheduledSinceMs: number,
  nowMs: number,
): number {
  const due = dueSince(schedule, Math.max(lastStartMs(cronJob), scheduledSinceMs), nowMs);
  const fromMs = due.kind === "none" ? due.sinceMs : due.kind === "start" ? due.atMs : nowMs;
  return Math.max(0, (nextTimeMs(schedule, fromMs) ?? nowMs) + PADDING_MS - nowMs);
}

function lastStartMs({ metadata, status }: CronJob): number {
  return timeToMs(status.lastScheduleTime ?? metadata.creationTimestamp ?? "");
}

function dueSince(schedule: Schedule, sinceMs: number, nowMs: number): Due {
  const firstMs = nextTimeMs(schedule, sinceMs);
  if (firstMs === undefined) return { kind: "never" };
  if (nowMs < firstMs) return { kind: "none", sinceMs };
  const secondMs = nextTimeMs(schedule, firstMs);
  if (secondMs === undefined) return { kind: "never" };
  if (nowMs < secondMs) return { kind: "start", atMs: firstMs, missedMany: false };
  const distanceMs = secondMs - firstMs;
  const missed = Math.floor((nowMs - firstMs) / distanceMs) + 1;
  let latestMs: number | undefined;
  let atMs = nextTimeMs(schedule, firstMs + (missed - 2) * distanceMs);
  while (atMs !== undefined && atMs <= nowMs) {
    latestMs = atMs;
    atMs = nextTimeMs(schedule, atMs);
  }
  if (latestMs === undefined) return { kind: "passed" };
  return { kind: "start", atMs: latestMs, missedMany: missed > MISSED_MANY };
}
