/**
 * Lets all callers that wait in one turn of the event loop continue in the same later turn, in order.
 *
 * Requests that run interleaved at their `await`s are faster than one after the other: each step runs
 * for many requests in a row, while its code and data are in the processor's cache.
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
