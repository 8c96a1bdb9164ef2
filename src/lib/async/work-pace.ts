/**
 * Lets long work of one task take rests, so that it does not keep the event loop from everything else.
 * The task calls `rest` between its steps.
 *
 * Promises:
 * 1. `rest` is undefined, and costs one look at the clock, unless the work since the last rest took
 *    WORK_MS or more. Then it resolves in a later turn of the event loop.
 * 2. While time stands still (the virtual clock) there are no rests.
 */
import type { Clock } from "../time/clock.ts";
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

  rest(): Promise<void> | undefined {
    const nowMs = this.#clock.elapsedMs();
    return nowMs - this.#sinceMs < WORK_MS ? undefined : this.#pause();
  }

  /** Runs the steps, with rests between them. */
  async run<T>(steps: Steps<T>): Promise<T> {
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return value;
      const pause = this.rest();
      if (pause !== undefined) await pause;
    }
  }

  async #pause(): Promise<void> {
    await nextTurn();
    this.#sinceMs = this.#clock.elapsedMs();
  }
}
