/**
 * Bounds how much work begins in one turn of the event loop, so that a burst of hundreds of calls within
 * the process does not keep a request from outside waiting until all of them are done.
 *
 * Promises:
 * 1. At most `perTurn` callers of `begin` go on in a turn, fewer while turns are long, but one,
 *    and none during a rest (turn-share.ts). The others wait, first come first served.
 * 2. A caller that need not wait gets undefined and costs no promise.
 */
import { Fifo } from "../collections/fifo.ts";
import { nextTurn } from "./next-turn.ts";
import type { TurnShare } from "./turn-share.ts";

type Turns = Pick<TurnShare, "share" | "isLate" | "rest">;

export class TurnLimit {
  readonly #perTurn: number;
  readonly #turns: Turns | undefined;
  readonly #waiting = new Fifo<() => void>();
  #begun = 0;
  #isNextDue = false;

  constructor(perTurn: number, turns?: Turns) {
    this.#perTurn = perTurn;
    this.#turns = turns;
  }

  begin(): Promise<void> | undefined {
    const most = this.#most();
    const mustWait = this.#begun >= most || this.#turns?.isLate || this.#turns?.rest !== undefined;
    this.#callNext();
    if (mustWait) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#begun += 1;
    return undefined;
  }

  #most(): number {
    if (this.#turns === undefined) return this.#perTurn;
    return Math.max(1, Math.round(this.#perTurn * this.#turns.share));
  }

  #callNext(): void {
    if (this.#isNextDue) return;
    this.#isNextDue = true;
    void (this.#turns?.rest ?? nextTurn()).then(() => this.#nextTurn());
  }

  #nextTurn(): void {
    this.#isNextDue = false;
    this.#begun = 0;
    if (this.#waiting.size === 0) return;
    this.#callNext();
    if (this.#turns?.rest !== undefined) return;
    for (const most = this.#most(); this.#begun < most; this.#begun++) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      next();
    }
  }
}
