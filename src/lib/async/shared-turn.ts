/**
 * Lets callers that come in one turn of the event loop continue together in a later turn, in order.
 *
 * Requests that run interleaved at their `await`s are faster than one after the other: each step runs
 * for many requests in a row, while its code and data are in the processor's cache. The first of a turn
 * does not wait: mostly there is no other, and a turn may be long while other work of the process is done
 * in slices.
 */
import { nextTurn } from "./next-turn.ts";

export class SharedTurn {
  #next: Promise<void> | undefined;

  /** Undefined for the first caller of a turn; for the others resolves when everything that is ready has run. */
  wait(): Promise<void> | undefined {
    if (this.#next !== undefined) return this.#next;
    this.#next = nextTurn().then(() => {
      this.#next = undefined;
    });
    return undefined;
  }
}
