/**
 * Lets long work of one task take rests, so that it does not keep the event loop from everything else.
 * Between its steps the task looks whether a rest is due, and takes it: `if (pace.isDue) await pace.rest()`.
 *
 * Promises:
 * 1. A rest is due, which costs one look at the clock to know, if the work since the last one took
 *    WORK_MS or more. It ends in a later turn of the event loop.
 * 2. While time stands still (the virtual clock) there are no rests.
 */
import type { Clock } from "../time/clock.ts";
import type { MaybePromise } from "./maybe-promise.ts";
import { nextTurn } from "./next-turn.ts";
import type { Steps } from "./steps.ts";

/** Few tasks take that long; a step may take longer. */
const WORK_MS = 5;

export class WorkPace {
  readonly #clock: Pick<Clock, "elapsedMs">;
  #sinceMs: number;

  constructor(clock: Pick<Clock, "elapsedMs">) {
    this.#clock = clock;
    this.#sinceMs = clock.elapsedMs();
  }

  /** Whether it is time for a rest. To await nothing would cost a microtask and its promise at each step. */
  get isDue(): boolean {
    return this.#clock.elapsedMs() - this.#sinceMs >= WORK_MS;
  }

  async rest(): Promise<void> {
    await nextTurn();
    this.#sinceMs = this.#clock.elapsedMs();
  }

  /** Runs the steps, with rests between them. Most take no rest, and their result is there at once. */
  run<T>(steps: Steps<T>): MaybePromise<T> {
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return value;
      if (this.isDue) return this.rest().then(() => this.run(steps));
    }
  }
}
