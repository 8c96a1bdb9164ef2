/**
 * Bounds how much work begins in one turn of the event loop, so that a burst of hundreds of calls within
 * the process does not keep a request from outside waiting until all of them are done.
 *
 * Promises:
 * 1. At most `perTurn` callers of `begin` go on in a turn. The others wait, first come first served.
 * 2. A caller that need not wait gets undefined and costs no promise.
 */
import { Fifo } from "../collections/fifo.ts";
import { nextTurn } from "./next-turn.ts";

export class TurnLimit {
  readonly #perTurn: number;
  readonly #waiting = new Fifo<() => void>();
  #begun = 0;

  constructor(perTurn: number) {
    this.#perTurn = perTurn;
  }

  begin(): Promise<void> | undefined {
    if (this.#begun >= this.#perTurn) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#count();
    return undefined;
  }

  #count(): void {
    if (this.#begun === 0) void nextTurn().then(() => this.#nextTurn());
    this.#begun += 1;
  }

  #nextTurn(): void {
    this.#begun = 0;
    while (this.#begun < this.#perTurn) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#count();
      next();
    }
  }
}
