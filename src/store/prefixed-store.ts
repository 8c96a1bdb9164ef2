/**
 * A store whose callers see the keys below one prefix (`seen`, such as /registry/) while they lie
 * below another one (`stored`, such as /clusters/a/). Two clusters share one etcd that way.
 *
 * Promises:
 * 1. A key below `seen` is read and written below `stored`; all other keys keep their names.
 * 2. What lies below `seen` in the inner store belongs to another cluster: it never shows up.
 * 3. Revisions, conditions, history and snapshots (all keys, as they lie there) are the inner store's.
 */
import type {
  DeleteOptions,
  Entry,
  GetAnswer,
  GetOptions,
  Operation,
  PutOptions,
  RangeAnswer,
  RangeOptions,
  SnapshotSummary,
  Store,
  TransactAnswer,
  Watch,
  WatchBatch,
  WatchEvent,
  WatchOptions,
  WriteAnswer,
} from "./contract.ts";

export interface KeyPrefixes {
  /** Both end with a slash. */
  readonly seen: string;
  readonly stored: string;
}

export class PrefixedStore implements Store {
  readonly #inner: Store;
  readonly #prefixes: KeyPrefixes;

  constructor(inner: Store, prefixes: KeyPrefixes) {
    this.#inner = inner;
    this.#prefixes = prefixes;
  }

  currentRevision(): Promise<number> {
    return this.#inner.currentRevision();
  }

  async get(key: string, options?: GetOptions): Promise<GetAnswer> {
    const { revision, entry } = await this.#inner.get(this.#storedKey(key), options);
    return { revision, entry: entry && this.#seenEntry(entry) };
  }

  async range(prefix: string, options: RangeOptions = {}): Promise<RangeAnswer> {
    const { startAfter, ...others } = options;
    const answer = await this.#inner.range(this.#storedRange(prefix), {
      ...others,
      ...(startAfter === undefined ? {} : { startAfter: this.#storedKey(startAfter) }),
    });
    return { ...answer, entries: answer.entries.map((entry) => this.#seenEntry(entry)) };
  }

  async count(prefix: string, options?: GetOptions): Promise<number> {
    return await this.#inner.count(this.#storedRange(prefix), options);
  }

  async put(key: string, value: Uint8Array, options?: PutOptions): Promise<WriteAnswer> {
    return this.#seenAnswer(await this.#inner.put(this.#storedKey(key), value, options));
  }

  async delete(key: string, options?: DeleteOptions): Promise<WriteAnswer> {
    return this.#seenAnswer(await this.#inner.delete(this.#storedKey(key), options));
  }

  async transact(operations: readonly Operation[]): Promise<TransactAnswer> {
    const answer = await this.#inner.transact(
      operations.map((one) => ({ ...one, key: this.#storedKey(one.key) })),
    );
    if (answer.ok) return answer;
    const conflicts = answer.conflicts.map(({ index, current }) => ({
      index,
      current: current && this.#seenEntry(current),
    }));
    return { ...answer, conflicts };
  }

  watch(prefix: string, options: WatchOptions): Watch {
    const below = prefix.startsWith(this.#prefixes.seen) ? this.#storedKey(prefix) : prefix;
    return new RenamedWatch(this.#inner.watch(below, options), (batch) => this.#seenBatch(batch));
  }

  compact(revision: number): Promise<void> {
    return this.#inner.compact(revision);
  }

  snapshot(path: string, signal?: AbortSignal): Promise<SnapshotSummary> {
    return this.#inner.snapshot(path, signal);
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#inner[Symbol.asyncDispose]();
  }

  #storedKey(key: string): string {
    const { seen, stored } = this.#prefixes;
    return key.startsWith(seen) ? stored + key.slice(seen.length) : key;
  }

  /** A range that begins above `seen` would mix renamed keys with others, out of order. */
  #storedRange(prefix: string): string {
    if (this.#prefixes.seen.startsWith(prefix) && prefix !== this.#prefixes.seen) {
      throw new Error(`ranges begin below ${this.#prefixes.seen}`);
    }
    return this.#storedKey(prefix);
  }

  /** Undefined: the key of another cluster. */
  #seenKey(key: string): string | undefined {
    const { seen, stored } = this.#prefixes;
    if (key.startsWith(stored)) return seen + key.slice(stored.length);
    return key.startsWith(seen) ? undefined : key;
  }

  #seenEntry(entry: Entry): Entry {
    return { ...entry, key: this.#seenKey(entry.key) ?? entry.key };
  }

  #seenAnswer(answer: WriteAnswer): WriteAnswer {
    if (answer.ok || answer.current === undefined) return answer;
    return { ...answer, current: this.#seenEntry(answer.current) };
  }

  /** A batch of which nothing is left is a progress mark. */
  #seenBatch(batch: WatchBatch): WatchBatch {
    const events: WatchEvent[] = [];
    for (const event of batch.events) {
      const key = this.#seenKey(event.key);
      if (key !== undefined) events.push({ ...event, key });
    }
    return { ...batch, events };
  }
}

class RenamedWatch implements Watch {
  readonly #inner: Watch;
  readonly #rename: (batch: WatchBatch) => WatchBatch;

  constructor(inner: Watch, rename: (batch: WatchBatch) => WatchBatch) {
    this.#inner = inner;
    this.#rename = rename;
  }

  deliverTo(sink: (batch: WatchBatch) => void): Promise<void> {
    return this.#inner.deliverTo((batch) => sink(this.#rename(batch)));
  }

  requestProgress(): void {
    this.#inner.requestProgress();
  }

  [Symbol.asyncIterator](): AsyncIterator<WatchBatch, undefined> {
    const inner = this.#inner[Symbol.asyncIterator]();
    return {
      next: async () => {
        const { done, value } = await inner.next();
        return done === true || value === undefined
          ? { done: true, value: undefined }
          : { done: false, value: this.#rename(value) };
      },
      return: async () => {
        await inner.return?.();
        return { done: true, value: undefined };
      },
    };
  }
}
