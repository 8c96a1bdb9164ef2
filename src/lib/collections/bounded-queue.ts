/**
 * A first-in first-out queue between one or more writers and one or more readers, with a limit.
 *
 * Promises:
 * 1. `offer` never waits: it says whether the item was taken. A full queue takes nothing.
 * 2. `take` waits for an item, or until its signal aborts; waiting readers are served in order.
 * 3. After `close`, offers are refused, what is queued can still be taken, then `take` gives
 *    undefined. `close(error)` makes `take` reject with the error instead, at once.
 * 4. Iterating takes items until the queue is closed.
 */
export class BoundedQueue<T> implements AsyncIterable<T> {
  readonly #limit: number;
  #items: T[] = [];
  #head = 0;
  #readers: Reader<T>[] = [];
  #closed = false;
  #error: unknown;

  constructor(limit: number) {
    if (!(limit >= 1)) throw new RangeError(`a queue needs room for at least one item: ${limit}`);
    this.#limit = limit;
  }

  get size(): number {
    return this.#items.length - this.#head;
  }

  get closed(): boolean {
    return this.#closed;
  }

  offer(item: T): boolean {
    if (this.#closed) return false;
    const reader = this.#readers.shift();
    if (reader !== undefined) {
      reader.settle({ item });
      return true;
    }
    if (this.size >= this.#limit) return false;
    this.#items.push(item);
    return true;
  }

  async take(signal?: AbortSignal): Promise<T | undefined> {
    signal?.throwIfAborted();
    if (this.#error !== undefined) throw this.#error;
    if (this.size > 0) return this.#shift();
    if (this.#closed) return undefined;
    return await this.#wait(signal);
  }

  close(error?: unknown): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#error = error;
    if (error !== undefined) {
      this.#items = [];
      this.#head = 0;
    }
    const readers = this.#readers;
    this.#readers = [];
    for (const reader of readers) reader.settle(error === undefined ? {} : { error });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (let item = await this.take(); item !== undefined; item = await this.take()) yield item;
  }

  #shift(): T {
    const item = this.#items[this.#head]!;
    this.#head += 1;
    // Give memory back once half of the array is behind the head.
    if (this.#head > 64 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  #wait(signal: AbortSignal | undefined): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#readers = this.#readers.filter((other) => other !== reader);
        reject(signal?.reason);
      };
      const reader: Reader<T> = {
        settle: ({ item, error }) => {
          signal?.removeEventListener("abort", onAbort);
          if (error !== undefined) reject(error);
          else resolve(item);
        },
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#readers.push(reader);
    });
  }
}

interface Reader<T> {
  settle(outcome: { item?: T; error?: unknown }): void;
}
