/**
 * Coalesces concurrent reads of the same value. A caller never gets the result of a read that began
 * before its call: callers that come while a read runs share the one that follows it.
 */
export class CoalescedRead<T> {
  readonly #read: () => Promise<T>;
  #running: Promise<T> | undefined;
  #following: Promise<T> | undefined;

  constructor(read: () => Promise<T>) {
    this.#read = read;
  }

  ask(): Promise<T> {
    if (this.#running === undefined) return this.#start();
    this.#following ??= this.#startAfter(this.#running);
    return this.#following;
  }

  async #startAfter(running: Promise<T>): Promise<T> {
    await running.catch(() => undefined); // its own callers get the error
    this.#following = undefined;
    return await this.#start();
  }

  #start(): Promise<T> {
    const running = this.#read().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }
}
