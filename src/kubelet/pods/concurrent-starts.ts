/**
 * Counts the pods that are being started, so that what is not urgent leaves the processors to them.
 * A wait ends when few pods are being started any more, and after its own time in any case.
 */
import type { Clock } from "#lib/time/clock.ts";

/** So many at once are no burst. */
const FEW = 4;

export class ConcurrentStarts {
  readonly #clock: Clock;
  #count = 0;
  #few = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#few.abort();
  }

  /** Counts a pod until `work` has ended. */
  async count<T>(work: () => Promise<T>): Promise<T> {
    this.#count += 1;
    if (this.#count === FEW + 1) this.#few = new AbortController();
    try {
      return await work();
    } finally {
      this.#count -= 1;
      if (this.#count === FEW) this.#few.abort();
    }
  }

  /** Resolves when few pods are being started or the signal aborts, after `atMostMs` at the latest. */
  async few(atMostMs: number, signal?: AbortSignal): Promise<void> {
    const { signal: few } = this.#few;
    if (few.aborted || atMostMs <= 0) return;
    const either = signal === undefined ? few : AbortSignal.any([few, signal]);
    await this.#clock.sleep(atMostMs, either).catch(() => undefined);
  }
}
