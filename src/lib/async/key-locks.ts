/**
 * A lock for each key, granted in the order of arrival. For work that may run concurrently but would
 * then have to be repeated.
 *
 * Promises:
 * 1. First come, first served.
 * 2. No caller waits longer than `waitMsMax`: after that it continues without the lock. So two callers
 *    that wait for each other elsewhere do not deadlock.
 * 3. A key without a holder takes no memory.
 */

import { Fifo } from "../collections/fifo.ts";
import type { Clock } from "../time/clock.ts";

export class KeyLocks {
  readonly #clock: Clock;
  readonly #waitMsMax: number;
  /** Waiting callers by key; no entry for a key without a holder. */
  readonly #lines = new Map<string, Fifo<Waiter>>();

  constructor(clock: Clock, waitMsMax: number) {
    this.#clock = clock;
    this.#waitMsMax = waitMsMax;
  }

  isBusy(key: string): boolean {
    return this.#lines.has(key);
  }

  /** Resolves when the lock is held. Dispose of the result to release it. */
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
    return isFirst ? this.#first(key) : WITHOUT_LOCK;
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
  /** It gave up waiting. */
  left: boolean;
}

const WITHOUT_LOCK: Disposable = { [Symbol.dispose]: () => undefined };
