/**
 * Whoever waits for the same turn of the event loop goes on in the same turn, in the order of coming.
 *
 * Work that comes piece by piece, each piece long, runs faster so: at every `await` the next piece
 * does the same step, while the processor still has the step's code and data at hand. Alone, each
 * piece would push out what the next one needs.
 */
import { nextTurn } from "./next-turn.ts";

export class SharedTurn {
  #next: Promise<void> | undefined;

  /** Resolves when everything that is ready has run. */
  wait(): Promise<void> {
    this.#next ??= nextTurn().then(() => {
      this.#next = undefined;
    });
    return this.#next;
  }
}
