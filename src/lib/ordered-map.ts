/**
 * A map whose keys are in order: O(log n) reads, writes and seeks, and an O(1) copy that shares
 * everything until one side changes. A B+ tree (sorted-btree) does the work.
 * Iterations see the map as it is while they run: change it only between two of them.
 */
import bTreeModule from "sorted-btree";

type Tree<Key, Value> = InstanceType<typeof bTreeModule.default<Key, Value>>;

export class OrderedMap<Key, Value> {
  readonly #tree: Tree<Key, Value>;

  private constructor(tree: Tree<Key, Value>) {
    this.#tree = tree;
  }

  static create<Key, Value>(compare: (a: Key, b: Key) => number): OrderedMap<Key, Value> {
    return new OrderedMap(new bTreeModule.default<Key, Value>(undefined, compare));
  }

  /** Keys ordered as `<` orders strings: by UTF-16 units. */
  static byString<Value>(): OrderedMap<string, Value> {
    return OrderedMap.create((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  }

  static byNumber<Value>(): OrderedMap<number, Value> {
    return OrderedMap.create((a, b) => a - b);
  }

  get size(): number {
    return this.#tree.size;
  }

  get(key: Key): Value | undefined {
    return this.#tree.get(key);
  }

  has(key: Key): boolean {
    return this.#tree.has(key);
  }

  set(key: Key, value: Value): void {
    this.#tree.set(key, value);
  }

  delete(key: Key): boolean {
    return this.#tree.delete(key);
  }

  clear(): void {
    this.#tree.clear();
  }

  firstKey(): Key | undefined {
    return this.#tree.minKey();
  }

  lastKey(): Key | undefined {
    return this.#tree.maxKey();
  }

  /** The entry with the greatest key at or below `key`. */
  floor(key: Key): [Key, Value] | undefined {
    return this.#tree.getPairOrNextLower(key);
  }

  /** Entries from `key` on (that key included), in order. */
  entriesFrom(key?: Key): IterableIterator<[Key, Value]> {
    return this.#tree.entries(key);
  }

  /** A copy that from now on lives its own life. */
  fork(): OrderedMap<Key, Value> {
    return new OrderedMap(this.#tree.clone());
  }
}
