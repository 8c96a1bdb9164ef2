/**
 * One line for each key: who is first in it works, the others wait in the order of coming. For work
 * that may be done side by side but then would have to be done again.
 *
 * Promises:
 * 1. First come, first served.
 * 2. Nobody waits longer than `waitMsMax`: after that it works beside whoever is first. So two that
 *    wait for each other outside go on.
 * 3. A key that nobody works on takes no memory.
 */

import { Fifo } from "../collections/fifo.ts";
import type { Clock } from "../time/clock.ts";

export class KeyLocks {
  readonly #clock: Clock;
  readonly #waitMsMax: number;
  /** Those who wait behind the first; no entry where nobody works. */
  readonly #lines = new Map<string, Fifo<Waiter>>();

  constructor(clock: Clock, waitMsMax: number) {
    this.#clock = clock;
    this.#waitMsMax = waitMsMax;
  }

  isBusy(key: string): boolean {
    return this.#lines.has(key);
  }

  /** Resolves when it is one's turn. What it gives is disposed of when the work is done. */
  async enter(key: string): Promise<Disposable> {
    const line = this.#lines.get(key);
    if (line === undefined) {
      this.#lines.set(key, new Fifo());
      return this.#first(key);
    }
    const isFirst = await new Promise<boolean>((resolve) => {
      const waiter: Waiter = {
        call: () => {
          timer.cancel();
          resolve(true);
        },
        left: false,
      };
      const timer = this.#clock.schedule(this.#waitMsMax, () => {
        waiter.left = true;
        resolve(false);
      });
      line.push(waiter);
    });
    return isFirst ? this.#first(key) : BESIDE;
  }

  #first(key: string): Disposable {
    return { [Symbol.dispose]: () => this.#leave(key) };
  }

  #leave(key: string): void {
    const line = this.#lines.get(key)!;
    for (let next = line.shift(); next !== undefined; next = line.shift()) {
      if (next.left) continue;
      next.call();
      return;
    }
    this.#lines.delete(key);
  }
}

interface Waiter {
  call(): void;
  /** It waits no longer. */
  left: boolean;
}

const BESIDE: Disposable = { [Symbol.dispose]: () => undefined };
