/**
 * The last `capacity` items, oldest first. Adding to a full ring drops the oldest and returns it.
 * Everything is O(1) but iteration; memory is fixed from the start.
 */
export class Ring<T> implements Iterable<T> {
  readonly #slots: (T | undefined)[];
  #start = 0;
  #size = 0;

  constructor(capacity: number) {
    if (!Number.isInteger(capacity) || capacity < 1) {
      throw new RangeError(`a ring needs room for at least one item, not ${capacity}`);
    }
    this.#slots = new Array(capacity);
  }

  get size(): number {
    return this.#size;
  }

  get capacity(): number {
    return this.#slots.length;
  }

  push(item: T): T | undefined {
    const end = (this.#start + this.#size) % this.capacity;
    if (this.#size < this.capacity) {
      this.#slots[end] = item;
      this.#size += 1;
      return undefined;
    }
    const dropped = this.#slots[end];
    this.#slots[end] = item;
    this.#start = (this.#start + 1) % this.capacity;
    return dropped;
  }

  shift(): T | undefined {
    if (this.#size === 0) return undefined;
    const item = this.#slots[this.#start];
    this.#slots[this.#start] = undefined;
    this.#start = (this.#start + 1) % this.capacity;
    this.#size -= 1;
    return item;
  }

  /** The item at `index` counted from the oldest; negative counts from the newest. */
  at(index: number): T | undefined {
    const position = index < 0 ? this.#size + index : index;
    if (position < 0 || position >= this.#size) return undefined;
    return this.#slots[(this.#start + position) % this.capacity];
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (let index = 0; index < this.#size; index++) yield this.at(index)!;
  }
}
