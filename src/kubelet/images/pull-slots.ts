/** How many images are pulled at a time (`serializeImagePulls`, `maxParallelImagePulls`): first come, first served. */
import { Fifo } from "#lib/collections/fifo.ts";

export class PullSlots {
  #free: number;
  readonly #waiting = new Fifo<() => void>();

  /** `Infinity`: as many as there are. */
  constructor(count: number) {
    this.#free = count;
  }

  /** Dispose of the answer when the pull is over. */
  async enter(signal: AbortSignal): Promise<Disposable> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const slot = { [Symbol.dispose]: () => this.#leave() };
    if (!signal.aborted) return slot;
    slot[Symbol.dispose]();
    throw signal.reason;
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}
