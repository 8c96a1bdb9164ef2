/** Work that is not waited for longer than a limit. It goes on, but nobody hears of its end. */
import type { Clock } from "#lib/clock.ts";
import { Deadlines } from "../http/deadlines.ts";

export class TimeLimit {
  readonly #deadlines: Deadlines<() => void>;

  constructor(clock: Clock, ms: number) {
    this.#deadlines = new Deadlines(clock, ms, (giveUp) => giveUp());
  }

  /** What the work comes to, or what is said when it takes too long. */
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

  /** Nobody waits any more. */
  stop(): void {
    this.#deadlines.stop();
  }
}
