/**
 * Splits long synchronous work into slices, so that other work of the process runs in between.
 *
 * Promises:
 * 1. All users of one TimeSlice together work for `sliceMs` in a turn of the event loop; after that
 *    `over` returns a promise for a later turn. Only a single step can take longer.
 * 2. Waiting users continue first come first served: the next one when the one before it waits for
 *    something else, as long as there is time left in the turn.
 * 3. While time stands still (the virtual clock) `over` never waits.
 */

import { Fifo } from "../collections/fifo.ts";
import type { Clock } from "../time/clock.ts";
import { microtasksDone } from "./microtasks-done.ts";
import { nextTurn } from "./next-turn.ts";

/** Short compared with network latency, long compared with the cost of a turn. */
const SLICE_MS = 2;

export class TimeSlice {
  readonly #clock: Clock;
  readonly #sliceMs: number;
  /** When this turn's work began; undefined while there was none. */
  #startMs: number | undefined;
  readonly #waiting = new Fifo<() => void>();

  constructor(clock: Clock, sliceMs: number = SLICE_MS) {
    this.#clock = clock;
    this.#sliceMs = sliceMs;
  }

  /** Undefined while there is time left in this turn. */
  over(): Promise<void> | undefined {
    const nowMs = this.#clock.elapsedMs();
    if (this.#startMs === undefined) this.#begin(nowMs);
    else if (nowMs - this.#startMs >= this.#sliceMs) {
      return new Promise((resolve) => this.#waiting.push(resolve));
    }
    return undefined;
  }

  #begin(nowMs: number): void {
    this.#startMs = nowMs;
    void nextTurn().then(() => this.#nextTurn());
  }

  #nextTurn(): void {
    this.#startMs = undefined;
    if (this.#waiting.size === 0) return;
    this.#begin(this.#clock.elapsedMs());
    this.#continueNext();
  }

  #continueNext(): void {
    this.#waiting.shift()?.();
    if (this.#waiting.size === 0) return;
    void microtasksDone().then(() => {
      if (this.#clock.elapsedMs() - this.#startMs! < this.#sliceMs) this.#continueNext();
    });
  }
}
