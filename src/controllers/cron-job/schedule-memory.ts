/**
 * Since when a CronJob has had the schedule it has. Times that a new schedule would have had before it
 * was set were never missed, so they are not made up for. A schedule seen for the first time counts as
 * having been there always.
 */
import type { CronJob } from "#api/generated/batch.v1.ts";

const ENTRIES_MAX = 100_000;

interface Entry {
  readonly schedule: string;
  /** Undefined until somebody asks at a known time. */
  sinceMs: number | undefined;
}

export class ScheduleMemory {
  readonly #entries = new Map<string, Entry>();

  /** To be called with every state that is seen; the answer is asked for when the time is known. */
  note({ metadata, spec }: CronJob): (nowMs: number) => number {
    const uid = metadata.uid ?? "";
    const schedule = `${spec.timeZone ?? ""} ${spec.schedule}`;
    const last = this.#entries.get(uid);
    const isKept = last?.schedule === schedule;
    const sinceMs = last === undefined ? Number.NEGATIVE_INFINITY : undefined;
    const entry: Entry = isKept ? last : { schedule, sinceMs };
    this.#entries.delete(uid);
    this.#entries.set(uid, entry);
    if (this.#entries.size > ENTRIES_MAX) {
      const oldest = this.#entries.keys().next();
      if (!oldest.done) this.#entries.delete(oldest.value);
    }
    return (nowMs) => {
      entry.sinceMs ??= nowMs;
      return entry.sinceMs;
    };
  }
}
