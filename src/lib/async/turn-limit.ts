/**
 * Bounds how much work begins in one turn of the event loop, so that a burst of hundreds of calls within
 * the process does not keep a request from outside waiting until all of them are done.
 *
 * Promises:
 * 1. At most `perTurn` callers of `begin` go on in a turn, fewer while turns are long (turn-share.ts), but
 *    always one. The others wait, first come first served.
 * 2. A caller that need not wait gets undefined and costs no promise.
 */
import { Fifo } from "../collections/fifo.ts";
import { nextTurn } from "./next-turn.ts";
import type { TurnShare } from "./turn-share.ts";

export class TurnLimit {
  readonly #perTurn: number;
  readonly #turns: Pick<TurnShare, "share"> | undefined;
  readonly #waiting = new Fifo<() => void>();
  #begun = 0;

  constructor(perTurn: number, turns?: Pick<TurnShare, "share">) {
    this.#perTurn = perTurn;
    this.#turns = turns;
  }

  begin(): Promise<void> | undefined {
    if (this.#begun >= this.#most()) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#count();
    return undefined;
  }

  #most(): number {
    if (this.#turns === undefined) return this.#perTurn;
    return Math.max(1, Math.round(this.#perTurn * this.#turns.share));
  }

  #count(): void {
    if (this.#begun === 0) void nextTurn().then(() => this.#nextTurn());
    this.#begun += 1;
  }

  #nextTurn(): void {
    this.#begun = 0;
    const most = this.#most();
    while (this.#begun < most) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#count();
      next();
    }
  }
}
