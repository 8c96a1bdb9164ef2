/**
 * A store whose values are encrypted on the way in and decrypted on the way out, as the rules for their
 * resources say. Everything else is the inner store's: keys, revisions, conditions, snapshots (which
 * stay encrypted).
 *
 * Promises:
 * 1. Callers see plain values only, except those that cannot be decrypted: they come out as they are
 *    stored, and `faultOf` says why. One such value does not stop the others.
 * 2. A watch hands over batches in order and, unless a KMS plugin has to be asked for a key, at once. At
 *    most WATCH_BUFFER_EVENTS_MAX events wait for a plugin; then the watch ends with SlowConsumer.
 * 3. A value that was just written is not decrypted when the watch brings it back: it is the same array.
 */
import type { MaybePromise } from "#lib/async/maybe-promise.ts";
import type {
  Entry,
  GetOptions,
  Operation,
  PutOptions,
  RangeOptions,
  Store,
  TransactAnswer,
  Watch,
  WatchBatch,
  WatchEvent,
  WatchOptions,
  WriteAnswer,
} from "#store/contract.ts";
import { DecryptedWatch } from "./decrypted-watch.ts";
import { type GroupResource, showGroupResource } from "./group-resource.ts";
import type { ResourceOfKey } from "./stored-resources.ts";
import { EncryptionError, type StorageContext, type Transformer } from "./transformer.ts";

export interface EncryptedStoreOptions {
  readonly inner: Store;
  readonly resourceOf: ResourceOfKey;
  /** Where the inner store keeps the key, if elsewhere: that one is authenticated, as upstream does. */
  storedKeyOf?(key: string): string;
  /** By the rules in force now; undefined: the resource is not encrypted. */
  transformerOf(resource: GroupResource): Transformer | undefined;
}

export class EncryptedStore implements Store {
  readonly #options: EncryptedStoreOptions;
  readonly #inner: Store;
  /** Plain values by what they were sealed to, until the watch has brought them back. */
  readonly #written = new WeakMap<Uint8Array, Uint8Array>();
  /** Why values could not be opened. */
  readonly #faults = new WeakMap<Uint8Array, EncryptionError>();

  constructor(options: EncryptedStoreOptions) {
    this.#options = options;
    this.#inner = options.inner;
  }

  /** Why a value that came out of this store is still encrypted. */
  faultOf(value: Uint8Array): EncryptionError | undefined {
    return this.#faults.get(value);
  }

  /** Whether a write of the same object would store it with another key or provider. */
  async isStale(key: string): Promise<boolean> {
    const found = this.#transformer(key);
    if (found === undefined) return false;
    const { entry } = await this.#inner.get(key);
    if (entry === undefined) return false;
    try {
      return (await found.transformer.open(entry.value, found.context)).stale;
    } catch (error) {
      if (error instanceof EncryptionError) return false;
      throw error;
    }
  }

  currentRevision(): Promise<number> {
    return this.#inner.currentRevision();
  }

  async get(key: string, options?: GetOptions) {
    const { revision, entry } = await this.#inner.get(key, options);
    return { revision, entry: entry && (await this.#openEntry(entry)) };
  }

  async range(prefix: string, options?: RangeOptions) {
    const answer = await this.#inner.range(prefix, options);
    if (options?.keysOnly) return answer;
    const opened = answer.entries.map((entry) => this.#openEntry(entry));
    const entries = opened.some((entry) => entry instanceof Promise)
      ? await Promise.all(opened)
      : (opened as Entry[]);
    return { ...answer, entries };
  }

  count(prefix: string, options?: GetOptions): Promise<number> {
    return this.#inner.count(prefix, options);
  }

  async put(key: string, value: Uint8Array, options?: PutOptions): Promise<WriteAnswer> {
    return await this.#openConflict(await this.#inner.put(key, this.#seal(key, value), options));
  }

  async delete(key: string, options?: { readonly expectRevision?: number }): Promise<WriteAnswer> {
    return await this.#openConflict(await this.#inner.delete(key, options));
  }

  async transact(operations: readonly Operation[]): Promise<TransactAnswer> {
    const sealed = operations.map((one) =>
      one.op === "put" ? { ...one, value: this.#seal(one.key, one.value) } : one,
    );
    const answer = await this.#inner.transact(sealed);
    if (answer.ok) return answer;
    const conflicts = await Promise.all(
      answer.conflicts.map(async ({ index, current }) => ({
        index,
        current: current && (await this.#openEntry(current)),
      })),
    );
    return { ...answer, conflicts };
  }

  watch(prefix: string, options: WatchOptions): Watch {
    const ending = new AbortController();
    const signal = AbortSignal.any([options.signal, ending.signal]);
    const inner = this.#inner.watch(prefix, { ...options, signal });
    return new DecryptedWatch(inner, (batch) => this.#openBatch(batch), ending);
  }

  compact(revision: number): Promise<void> {
    return this.#inner.compact(revision);
  }

  snapshot(path: string, signal?: AbortSignal) {
    return this.#inner.snapshot(path, signal);
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#inner[Symbol.asyncDispose]();
  }

  #seal(key: string, value: Uint8Array): Uint8Array {
    const found = this.#transformer(key);
    if (found === undefined) return value;
    const sealed = found.transformer.seal(value, found.context);
    if (sealed !== value) this.#written.set(sealed, value);
    return sealed;
  }

  async #openConflict(answer: WriteAnswer): Promise<WriteAnswer> {
    if (answer.ok || answer.current === undefined) return answer;
    return { ...answer, current: await this.#openEntry(answer.current) };
  }

  #openEntry(entry: Entry): MaybePromise<Entry> {
    const value = this.#openValue(entry.key, entry.value);
    if (value instanceof Promise) return value.then((plain) => ({ ...entry, value: plain }));
    return value === entry.value ? entry : { ...entry, value };
  }

  #openBatch(batch: WatchBatch): MaybePromise<WatchBatch> {
    const opened = batch.events.map((event) => this.#openEvent(event));
    if (opened.some((event) => event instanceof Promise)) {
      return Promise.all(opened).then((events) => ({ ...batch, events }));
    }
    return { ...batch, events: opened as WatchEvent[] };
  }

  #openEvent(event: WatchEvent): MaybePromise<WatchEvent> {
    const { key, type, prevValue } = event;
    const value = type === "delete" ? event.value : this.#openValue(key, event.value);
    const previous = prevValue && this.#openValue(key, prevValue);
    if (value instanceof Promise || previous instanceof Promise) {
      return Promise.all([value, previous]).then(([now, before]) => ({
        ...event,
        value: now,
        prevValue: before,
      }));
    }
    if (value === event.value && previous === prevValue) return event;
    return { ...event, value, prevValue: previous };
  }

  /** Never throws for a value that cannot be opened. */
  #openValue(key: string, stored: Uint8Array): MaybePromise<Uint8Array> {
    const written = this.#written.get(stored);
    if (written !== undefined) return written;
    const found = this.#transformer(key);
    if (found === undefined) return stored;
    const fail = (error: unknown): Uint8Array => {
      if (!(error instanceof EncryptionError)) throw error;
      this.#faults.set(stored, error);
      return stored;
    };
    try {
      const opened = found.transformer.open(stored, found.context);
      return opened instanceof Promise ? opened.then(({ plain }) => plain, fail) : opened.plain;
    } catch (error) {
      return fail(error);
    }
  }

  #transformer(
    key: string,
  ): { readonly transformer: Transformer; readonly context: StorageContext } | undefined {
    const resource = this.#options.resourceOf(key);
    const transformer = resource && this.#options.transformerOf(resource);
    if (transformer === undefined) return undefined;
    const stored = this.#options.storedKeyOf?.(key) ?? key;
    return { transformer, context: { key: stored, resource: showGroupResource(resource!) } };
  }
}
