/**
 * The objects of a resource at one revision, in the order of their keys. It stays as it is while changes
 * go on, so a reader may take its time.
 */
import type { OrderedMap } from "#lib/collections/ordered-map.ts";
import type { Revision } from "../storage/revision.ts";
import { endOf, startOf } from "./key-range.ts";

export class CacheState {
  readonly #objects: OrderedMap<string, Revision>;
  /** What the objects were that have changed since; undefined for those that did not exist. */
  readonly #before: ReadonlyMap<string, Revision | undefined>;
  /** Keys of objects that were deleted since, in order. */
  readonly #deleted: readonly string[];

  /** `objects` is a copy of the state of now, `before` what undoes the changes since the revision. */
  constructor(
    objects: OrderedMap<string, Revision>,
    before: ReadonlyMap<string, Revision | undefined> = new Map(),
  ) {
    this.#objects = objects;
    this.#before = before;
    this.#deleted = [...before.keys()]
      .filter((key) => before.get(key) !== undefined && !objects.has(key))
      .sort((a, b) => (a < b ? -1 : 1));
  }

  /** Objects whose keys begin with `prefix`, after the key `after` if given. */
  *under(prefix: string, after?: string): IterableIterator<Revision> {
    const start = startOf(prefix, after);
    const end = endOf(prefix);
    const deleted = this.#deleted.filter((key) => start <= key && key < end);
    let next = 0;
    for (const [key, revision] of this.#objects.entriesFrom(start)) {
      if (key >= end) break;
      while (next < deleted.length && deleted[next]! < key)
        yield this.#before.get(deleted[next++]!)!;
      const then = this.#before.has(key) ? this.#before.get(key) : revision;
      if (then !== undefined) yield then;
    }
    while (next < deleted.length) yield this.#before.get(deleted[next++]!)!;
  }

  /** How many there are. Cheaper than to go through them. */
  count(prefix: string, after?: string): number {
    const start = startOf(prefix, after);
    const end = endOf(prefix);
    let count = this.#objects.countBetween(start, end);
    for (const [key, then] of this.#before) {
      if (key < start || key >= end) continue;
      count += (then === undefined ? 0 : 1) - (this.#objects.has(key) ? 1 : 0);
    }
    return count;
  }
}
