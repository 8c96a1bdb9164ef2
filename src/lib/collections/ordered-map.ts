/**
 * A map whose keys are in order: O(log n) reads, writes and seeks, and an O(1) copy that shares
 * everything until one side changes. A B+ tree (sorted-btree) does the work.
 * Iterations see the map as it is while they run: change it only between two of them.
 *
 * To find the place of a key takes a dozen comparisons of strings that are in no cache. Where writes
 * are many and reads in order few, `setSoon` puts that off: keys that are placed together, in order,
 * find their places near each other. Reads are not affected.
 */
import bTreeModule from "sorted-btree";
import { bulkLoad } from "sorted-btree/extended/bulkLoad.js";

type Tree<Key, Value> = InstanceType<typeof bTreeModule.default<Key, Value>>;

/** So many entries wait for their places at most: placing them takes about a millisecond. */
const WAITING_MAX = 1_024;
/** Of the tree, as it makes them by itself. */
const NODE_SIZE_MAX = 32;

export class OrderedMap<Key, Value> {
  #tree: Tree<Key, Value>;
  readonly #compare: (a: Key, b: Key) => number;
  readonly #waiting = new Map<Key, Value>();

  private constructor(tree: Tree<Key, Value>, compare: (a: Key, b: Key) => number) {
    this.#tree = tree;
    this.#compare = compare;
  }

  static create<Key, Value>(compare: (a: Key, b: Key) => number): OrderedMap<Key, Value> {
    return new OrderedMap(new bTreeModule.default<Key, Value>(undefined, compare), compare);
  }

  /** Keys ordered as `<` orders strings: by UTF-16 units. */
  static byString<Value>(): OrderedMap<string, Value> {
    return OrderedMap.create((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  }

  static byNumber<Value>(): OrderedMap<number, Value> {
    return OrderedMap.create((a, b) => a - b);
  }

  get size(): number {
    return this.#placed().size;
  }

  get(key: Key): Value | undefined {
    return this.#placed().get(key);
  }

  has(key: Key): boolean {
    return this.#placed().has(key);
  }

  set(key: Key, value: Value): void {
    this.#placed().set(key, value);
  }

  /** As `set`, for maps that are rarely looked into before many more are set. */
  setSoon(key: Key, value: Value): void {
    this.#waiting.set(key, value);
    if (this.#waiting.size >= WAITING_MAX) this.#placed();
  }

  /** Takes the place of what is there. Keys are distinct; in order they take the least time. */
  load(entries: readonly (readonly [Key, Value])[]): void {
    const compare = this.#compare;
    const isAscending = entries.every(
      ([key], index) => index === 0 || compare(entries[index - 1]![0], key) < 0,
    );
    const sorted = isAscending ? entries : entries.toSorted((a, b) => compare(a[0], b[0]));
    const [keys, values] = [sorted.map(([key]) => key), sorted.map(([, value]) => value)];
    this.#waiting.clear();
    this.#tree = bulkLoad(keys, values, NODE_SIZE_MAX, compare);
  }

  delete(key: Key): boolean {
    return this.#placed().delete(key);
  }

  clear(): void {
    this.#waiting.clear();
    this.#tree.clear();
  }

  firstKey(): Key | undefined {
    return this.#placed().minKey();
  }

  lastKey(): Key | undefined {
    return this.#placed().maxKey();
  }

  /** The entry with the greatest key at or below `key`. */
  floor(key: Key): [Key, Value] | undefined {
    return this.#placed().getPairOrNextLower(key);
  }

  /** Entries from `key` on (that key included), in order. */
  entriesFrom(key?: Key): IterableIterator<[Key, Value]> {
    return this.#placed().entries(key);
  }

  /** Values of the keys from `low` up to, but without, `high`, in order: `countMax` at most. */
  valuesBetween(low: Key, high: Key, countMax = Number.POSITIVE_INFINITY): Value[] {
    const values: Value[] = [];
    if (countMax <= 0 || this.#compare(low, high) >= 0) return values;
    this.#placed().forRange(low, high, false, (_, value) => {
      values.push(value);
      return values.length < countMax ? undefined : STOP;
    });
    return values;
  }

  /** How many they are. Cheaper than to go through them. */
  countBetween(low: Key, high: Key): number {
    return this.#compare(low, high) < 0 ? this.#placed().forRange(low, high, false) : 0;
  }

  /** A copy that from now on lives its own life. */
  fork(): OrderedMap<Key, Value> {
    return new OrderedMap(this.#placed().clone(), this.#compare);
  }

  #placed(): Tree<Key, Value> {
    const tree = this.#tree;
    if (this.#waiting.size === 0) return tree;
    const entries = [...this.#waiting];
    this.#waiting.clear();
    if (entries.length > 1) entries.sort((a, b) => this.#compare(a[0], b[0]));
    for (const [key, value] of entries) tree.set(key, value);
    return tree;
  }
}

const STOP = { break: true };
