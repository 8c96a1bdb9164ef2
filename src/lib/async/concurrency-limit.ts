/**
 * Bounds how many calls are under way at a time. Answers that arrive together are handled in one turn
 * of the event loop, so the bound also limits how long such a turn can be.
 *
 * Promises:
 * 1. At most `max` pieces of work run at a time; the others wait, first come first served.
 * 2. Work that fails makes room as work that succeeds does.
 */
import { Fifo } from "../collections/fifo.ts";

export class ConcurrencyLimit {
  readonly #max: number;
  readonly #waiting = new Fifo<() => void>();
  #running = 0;

  constructor(max: number) {
    this.#max = max;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#max) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#running += 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next(); // it takes the place over
    }
  }
}
