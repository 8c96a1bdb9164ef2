/**
 * A binary heap: `peek` and `pop` give the smallest item by `compare`.
 * push and pop cost O(log n), peek O(1). Items that compare equal come out in no promised order.
 */
export class Heap<T> {
  readonly #items: T[] = [];
  readonly #compare: (a: T, b: T) => number;

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    const items = this.#items;
    let index = items.length;
    items.push(item);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (this.#compare(item, items[parent]!) >= 0) break;
      items[index] = items[parent]!;
      index = parent;
    }
    items[index] = item;
  }

  pop(): T | undefined {
    const items = this.#items;
    const smallest = items[0];
    const last = items.pop();
    if (items.length === 0 || last === undefined) return smallest;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      if (left >= items.length) break;
      const right = left + 1;
      const child =
        right < items.length && this.#compare(items[right]!, items[left]!) < 0 ? right : left;
      if (this.#compare(items[child]!, last) >= 0) break;
      items[index] = items[child]!;
      index = child;
    }
    items[index] = last;
    return smallest;
  }
}
