/**
 * A binary heap whose items can be found and removed by key. `peek` and `pop` give the smallest.
 * All operations but `peek` and `get` cost O(log n).
 */
export class KeyedHeap<T> {
  readonly #items: { readonly key: string; readonly value: T }[] = [];
  readonly #positions = new Map<string, number>();
  readonly #compare: (a: T, b: T) => number;

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#items.length;
  }

  get(key: string): T | undefined {
    const position = this.#positions.get(key);
    return position === undefined ? undefined : this.#items[position]!.value;
  }

  peek(): T | undefined {
    return this.#items[0]?.value;
  }

  values(): T[] {
    return this.#items.map(({ value }) => value);
  }

  /** Replaces the item that has the key. */
  set(key: string, value: T): void {
    this.delete(key);
    this.#items.push({ key, value });
    this.#positions.set(key, this.#items.length - 1);
    this.#up(this.#items.length - 1);
  }

  pop(): T | undefined {
    const first = this.#items[0];
    if (first === undefined) return undefined;
    this.delete(first.key);
    return first.value;
  }

  delete(key: string): T | undefined {
    const position = this.#positions.get(key);
    if (position === undefined) return undefined;
    const { value } = this.#items[position]!;
    this.#positions.delete(key);
    const last = this.#items.pop()!;
    if (position < this.#items.length) {
      this.#put(position, last);
      this.#down(position);
      this.#up(position);
    }
    return value;
  }

  #put(position: number, item: { readonly key: string; readonly value: T }): void {
    this.#items[position] = item;
    this.#positions.set(item.key, position);
  }

  #up(position: number): void {
    const item = this.#items[position]!;
    while (position > 0) {
      const parent = (position - 1) >> 1;
      const above = this.#items[parent]!;
      if (this.#compare(item.value, above.value) >= 0) break;
      this.#put(position, above);
      position = parent;
    }
    this.#put(position, item);
  }

  #down(position: number): void {
    const item = this.#items[position]!;
    for (;;) {
      const left = 2 * position + 1;
      if (left >= this.#items.length) break;
      const right = left + 1;
      const isRight =
        right < this.#items.length &&
        this.#compare(this.#items[right]!.value, this.#items[left]!.value) < 0;
      const child = isRight ? right : left;
      const below = this.#items[child]!;
      if (this.#compare(below.value, item.value) >= 0) break;
      this.#put(position, below);
      position = child;
    }
    this.#put(position, item);
  }
}
