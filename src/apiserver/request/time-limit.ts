/** Waits for work no longer than a limit. The work continues, but its result is dropped. */
import type { Status } from "#api/generated/meta.v1.ts";
import { timeoutStatus } from "#api/meta/status.ts";
import type { Clock } from "#lib/time/clock.ts";
import { Deadlines } from "../http/deadlines.ts";

/** The Status for a write that took too long. */
export function tooLateStatus(): Status {
  return timeoutStatus(
    "request did not complete within requested timeout - context deadline exceeded",
  );
}

export class TimeLimit {
  readonly ms: number;
  readonly #deadlines: Deadlines<() => void>;

  constructor(clock: Clock, ms: number) {
    this.ms = ms;
    this.#deadlines = new Deadlines(clock, ms, (giveUp) => giveUp());
  }

  /** The result of the work, or a timeout Status. */
  within<T>(work: Promise<T>, late: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const deadline = this.#deadlines.begin(() => resolve(late()));
      work.then(
        (value) => {
          deadline.end();
          resolve(value);
        },
        (error: unknown) => {
          deadline.end();
          reject(error);
        },
      );
    });
  }

  /** Cancels all deadlines. */
  stop(): void {
    this.#deadlines.stop();
  }
}
