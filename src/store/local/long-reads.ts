/**
 * How many reads may span several turns of the event loop at once. Each holds on to the state in
 * which it began, and LMDB has a fixed number of places for that. The others wait their turn.
 */
const AT_ONCE_MAX = 64;

export class LongReads {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /** Dispose of the answer when the read is over. */
  async begin(): Promise<Disposable> {
    if (this.#running < AT_ONCE_MAX) this.#running += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return { [Symbol.dispose]: () => this.#end() };
  }

  /** Hands the place to the read that has waited longest. */
  #end(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running -= 1;
    else next();
  }
}
