/** Lets a loop sleep until something has changed. Changes before `reset` count for the coming turn. */
import { type Deferred, deferred } from "./deferred.ts";

export class WakeUp {
  #waiting: Deferred<void> = deferred<void>();

  wake(): void {
    this.#waiting.resolve();
  }

  /** Resolves when something has changed since the last `reset`. */
  get woken(): Promise<void> {
    return this.#waiting.promise;
  }

  reset(): void {
    this.#waiting = deferred<void>();
  }
}
