/**
 * One read for all who want to know the same. Nobody gets an answer to a question that was asked
 * before they came: who comes while a read is under way shares the one that follows it.
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
    await running.catch(() => undefined); // whoever asked hears of it
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
