/**
 * Objects in the store, through the watch cache.
 *
 * Promises:
 * 1. A read is as fresh as the store unless the caller is content with less. On a remote store the
 *    newest revision is asked for once for all reads that wait at the same time; the objects come from
 *    the cache, as soon as it has reached that revision.
 * 2. A write that succeeded shows in the cache before its promise resolves.
 * 3. Failures of the store are Statuses: 503 when it cannot be reached. Conflicts carry the revision
 *    that is there, so the caller can decide again without a read of its own.
 * 4. Resources may lie in stores of their own (`--etcd-servers-overrides`). Their revisions are those of
 *    that store: comparisons of revisions must use `storeOf(resource)`.
 */

import type { Status } from "#api/generated/meta.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import {
  failure,
  internalErrorStatus,
  noSuchPathStatus,
  type Result,
  resourceVersionTooLargeStatus,
  success,
} from "#api/meta/status.ts";
import { withTimeout } from "#lib/async/sleep.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { SpanOptions, Tracer } from "#lib/tracing/tracer.ts";
import { type Store, StoreError } from "#store/contract.ts";
import type { EncryptedStore } from "../encryption/encrypted-store.ts";
import { EncryptionError, isEncrypted } from "../encryption/transformer.ts";
import type { StoreMetrics, StoreOperation } from "../metrics/store-metrics.ts";
import type { KindRegistry } from "../registry/kind-registry.ts";
import { internalPackageOf } from "../request/internal-package.ts";
import type { ResourceCache } from "../watch/resource-cache.ts";
import { WatchCache } from "../watch/watch-cache.ts";
import type { StoredResource } from "./resources.ts";
import type { Revision } from "./revision.ts";
import { type OwnWrite, RevisionDecoder } from "./revision-decoder.ts";
import type { StorageCodec } from "./storage-codec.ts";
import { failureOf, guarded, statusOfStoreError, untransformable } from "./store-failures.ts";

/** How long a read waits for a revision that the cache has not seen yet. */
const FRESH_WITHIN_MS = 3_000;
const PING_WITHIN_MS = 2_000;
/** Asked for to learn whether a revision can still be read; nothing is stored under it. */
const NO_KEY = "/registry/";

export interface ObjectStoreOptions {
  readonly store: Store;
  /** The same store, if values in it are encrypted. */
  readonly encryption?: EncryptedStore | undefined;
  /** The store is in this process: the cache is as fresh as the store itself. */
  readonly local: boolean;
  readonly resources: KindRegistry;
  readonly codec: StorageCodec;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long Events are kept. */
  readonly eventTtlSeconds: number;
  readonly metrics: StoreMetrics;
  /** Makes spans, with upstream's names, of what is done within a request's span. */
  readonly tracer?: Tracer | undefined;
  /** Of `only` one resource; of all unless given. */
  readonly only?: StoredResource | undefined;
  /** Resources that lie elsewhere. */
  readonly overrides?: readonly StoreOverride[];
}

/** The store of one resource. */
export interface StoreOverride {
  readonly group: string;
  readonly plural: string;
  readonly store: Store;
  readonly encryption?: EncryptedStore | undefined;
}

export type WriteOutcome =
  | { readonly outcome: "written"; readonly revision: Revision }
  /** Another writer was faster; `current` is the stored object. */
  | { readonly outcome: "conflict"; readonly current: Revision | undefined };

export class ObjectStore {
  readonly cache: WatchCache;
  readonly #options: ObjectStoreOptions;
  readonly #decoder: RevisionDecoder;
  /** By group and plural. */
  readonly #others: ReadonlyMap<string, ObjectStore> | undefined;

  constructor(options: ObjectStoreOptions) {
    this.#options = options;
    this.#decoder = new RevisionDecoder(options);
    const { store, resources, clock, logger, only, overrides = [] } = options;
    this.#others = overrides.length === 0 ? undefined : storesOf(options, overrides);
    this.cache = new WatchCache({
      store,
      resources,
      clock,
      logger,
      only,
      decode: (resource, key, number, stored, isKept) =>
        this.#decoder.decode(resource, key, number, stored, isKept),
    });
  }

  /** Where the objects of a resource lie. */
  storeOf({ group, plural }: StoredResource): ObjectStore {
    return this.#others?.get(`${group}/${plural}`) ?? this;
  }

  cacheOf(resource: StoredResource): ResourceCache {
    return this.storeOf(resource).cache.of(resource);
  }

  /** Loads the caches. Throws the StoreError of a store that cannot be read. */
  async load(): Promise<void> {
    await Promise.all([this.cache.load(), ...this.#rest().map((other) => other.load())]);
  }

  /** Follows the stores until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.cache.run(signal), ...this.#rest().map((other) => other.run(signal))]);
  }

  /** Whether the caches follow their stores right now. */
  get isCurrent(): boolean {
    return this.cache.current && this.#rest().every((other) => other.isCurrent);
  }

  #rest(): readonly ObjectStore[] {
    return this.#others === undefined ? [] : [...this.#others.values()];
  }

  /** Why a store cannot be reached right now; undefined when all can. */
  async unavailable(): Promise<string | undefined> {
    const all = [this.#unavailable(), ...this.#rest().map((other) => other.unavailable())];
    return (await Promise.all(all)).find((why) => why !== undefined);
  }

  async #unavailable(): Promise<string | undefined> {
    try {
      await withTimeout(this.#options.clock, PING_WITHIN_MS, () =>
        this.#options.store.currentRevision(),
      );
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  }

  /** The object as the store has it now. */
  async read(resource: StoredResource, key: string): Promise<Result<Revision | undefined>> {
    const other = this.storeOf(resource);
    if (other !== this) return await other.read(resource, key);
    const cache = this.cache.of(resource);
    const isReadable = !cache.unreadable.has(key);
    const { local, store } = this.#options;
    if (local && this.cache.current && isReadable) return success(cache.get(key));
    return await this.#guarded("get", resource, async () => {
      if (!isReadable) return success(await this.#readAgain(resource, key));
      if (!local && !cache.isRemoved) {
        const isFresh = await this.cache.reached(await store.currentRevision(), FRESH_WITHIN_MS);
        // Another cache may have taken its place while this waited.
        if (isFresh && this.cache.of(resource) === cache && !cache.unreadable.has(key)) {
          return success(cache.get(key));
        }
      }
      const { entry } = await store.get(key);
      if (entry === undefined) return success(undefined);
      return success(this.#known(resource, key, entry.modRevision, entry.value));
    });
  }

  /**
   * The object as the cache has it, to base a write on: the write is refused by the store if the cache
   * was outdated. Undefined where `read` costs nothing, or where the cache cannot say.
   */
  peek(resource: StoredResource, key: string): { revision: Revision | undefined } | undefined {
    const other = this.storeOf(resource);
    if (other !== this) return other.peek(resource, key);
    const cache = this.cache.of(resource);
    if (this.#options.local || !this.cache.current || cache.isRemoved) return undefined;
    return cache.unreadable.has(key) ? undefined : { revision: cache.get(key) };
  }

  /**
   * Why the objects under a prefix cannot be listed: one of them cannot be decrypted or decoded. Those
   * that could not be read before are tried again, so that a provider that has come back is noticed.
   */
  async whyUnreadable(resource: StoredResource, prefix: string): Promise<Status | undefined> {
    const other = this.storeOf(resource);
    if (other !== this) return await other.whyUnreadable(resource, prefix);
    const { unreadable } = this.cache.of(resource);
    if (unreadable.size === 0) return undefined;
    for (const key of [...unreadable].filter((one) => one.startsWith(prefix))) {
      try {
        await this.#readAgain(resource, key);
      } catch (error) {
        if (error instanceof StoreError) return statusOfStoreError(error);
        if (!(error instanceof EncryptionError)) throw error;
        return internalErrorStatus(untransformable(key, error));
      }
    }
    return undefined;
  }

  /** Throws EncryptionError if it still cannot be read; otherwise the cache has it from now on. */
  async #readAgain(resource: StoredResource, key: string): Promise<Revision | undefined> {
    const { entry } = await this.#options.store.get(key);
    if (entry === undefined) return undefined;
    const revision = this.#decoder.decode(resource, key, entry.modRevision, entry.value);
    this.cache.recover(resource, revision);
    return revision;
  }

  /** Waits until the cache is as fresh as the store is now. */
  async fresh(): Promise<Result<number>> {
    if (this.#options.local && this.cache.current) return success(this.cache.revision);
    return await guarded(async () => {
      const revision = await this.#options.store.currentRevision();
      return await this.notOlderThan(revision);
    });
  }

  /** Waits until the cache shows at least this revision. */
  async notOlderThan(revision: number): Promise<Result<number>> {
    if (await this.cache.reached(revision, FRESH_WITHIN_MS)) return success(this.cache.revision);
    const current = String(this.cache.revision);
    return failure(resourceVersionTooLargeStatus(String(revision), current, 1));
  }

  /** The next page of a listing at this revision can be asked for. A remote store compacts by itself. */
  promisedPage(revision: number): void {
    if (this.#options.local) this.cache.supersede(revision);
  }

  /** Rejects with `Compacted` if the store has given up the state at a revision. */
  async checkKept(revision: number): Promise<void> {
    if (revision >= this.cache.revision) return;
    await this.#options.store.get(NO_KEY, { atRevision: revision });
  }

  /** Objects as they were at a revision, straight from the store's history. */
  async history(
    resource: StoredResource,
    prefix: string,
    atRevision: number,
    startAfter: string | undefined,
    limit: number,
  ): Promise<{ revisions: Revision[]; remaining: number }> {
    const other = this.storeOf(resource);
    if (other !== this) return await other.history(resource, prefix, atRevision, startAfter, limit);
    const { store, clock, metrics } = this.#options;
    const startMs = clock.elapsedMs();
    const options = {
      atRevision,
      ...(startAfter === undefined ? {} : { startAfter }),
      ...(limit > 0 ? { limit } : {}),
    };
    const span = { name: "List(recursive=true) etcd3", attributes: () => ({ key: prefix, limit }) };
    const page = await this.#inSpan(span, () => store.range(prefix, options));
    metrics.done("list", resource, clock.elapsedMs() - startMs, false);
    const revisions = page.entries.map(({ key, value, modRevision }) => {
      try {
        return this.#known(resource, key, modRevision, value); // most have not changed since
      } catch (error) {
        if (!(error instanceof EncryptionError)) throw error;
        throw new StoreError({ code: "Corrupt" }, untransformable(key, error));
      }
    });
    return { revisions, remaining: page.remaining };
  }

  create(resource: StoredResource, key: string, object: KubeObject): Promise<Result<WriteOutcome>> {
    const create = () => this.storeOf(resource).#put(resource, key, object, { mustNotExist: true });
    if (!this.#isTraced) return create();
    return this.#inSpan(spanOf("Create etcd3", resource, key), create);
  }

  /** Writes nothing if the object is what is there already: then the revision stays. */
  replace(
    resource: StoredResource,
    key: string,
    expected: Revision,
    object: KubeObject,
  ): Promise<Result<WriteOutcome>> {
    const condition = { expectRevision: expected.number };
    const replace = () => this.storeOf(resource).#put(resource, key, object, condition, expected);
    if (!this.#isTraced) return replace();
    return this.#inSpan(spanOf("GuaranteedUpdate etcd3", resource, key), replace);
  }

  /** Answers the last state as of the revision of the delete. */
  async remove(
    resource: StoredResource,
    key: string,
    expected: Revision,
  ): Promise<Result<WriteOutcome>> {
    const other = this.storeOf(resource);
    if (other !== this) return await other.remove(resource, key, expected);
    return await this.#guarded("delete", resource, async () => {
      const wrote = await this.#options.store.delete(key, { expectRevision: expected.number });
      if (!wrote.ok) return success(this.#conflict(resource, wrote.current));
      await this.#seen(wrote.revision);
      return success({ outcome: "written", revision: expected.renumbered(wrote.revision) });
    });
  }

  get #isTraced(): boolean {
    return this.#options.tracer?.isActive === true;
  }

  async #inSpan<T>(span: SpanOptions, work: () => Promise<T>): Promise<T> {
    const { tracer } = this.#options;
    return await (tracer === undefined ? work() : tracer.child(span, work));
  }

  async #put(
    resource: StoredResource,
    key: string,
    object: KubeObject,
    condition: { readonly mustNotExist?: boolean; readonly expectRevision?: number },
    expected?: Revision,
  ): Promise<Result<WriteOutcome>> {
    const { store, codec, eventTtlSeconds, clock, metrics } = this.#options;
    if (this.cache.of(resource).isRemoved) return failure(noSuchPathStatus());
    const startMs = clock.elapsedMs();
    const bytes = codec.encode(object);
    const json = codec.isJson(bytes) ? bytes : codec.encodeAsJson(object);
    const isNew = expected === undefined;
    const own: OwnWrite = { object, bytes, json, isNew, revision: undefined };
    let failed = true;
    try {
      const unchanged = expected?.holds(json) ?? false;
      // An unchanged object is written all the same if that replaces an old version or encryption key.
      const isKept = unchanged && expected?.isStale === false;
      if (isKept && !(await this.#options.encryption?.isStale(key))) {
        failed = false;
        return success({ outcome: "written", revision: expected });
      }
      const options =
        resource.kind.expires === "event-ttl"
          ? { ...condition, ttlSeconds: eventTtlSeconds }
          : condition;
      this.#decoder.begin(key, own);
      const wrote = await store.put(key, bytes, options);
      if (wrote.ok && this.cache.revision < wrote.revision) await this.#seen(wrote.revision);
      failed = false;
      if (!wrote.ok) return success(this.#conflict(resource, wrote.current));
      const revision = own.revision ?? this.#known(resource, key, wrote.revision, bytes);
      return success({ outcome: "written", revision });
    } catch (error) {
      return failureOf(error);
    } finally {
      this.#decoder.end(key, own);
      const operation = expected === undefined ? "create" : "update";
      metrics.done(operation, resource, clock.elapsedMs() - startMs, failed);
    }
  }

  #conflict(
    resource: StoredResource,
    current: { key: string; value: Uint8Array; modRevision: number } | undefined,
  ): WriteOutcome {
    if (current === undefined) return { outcome: "conflict", current: undefined };
    const { key, value, modRevision } = current;
    // What is in the way of a new object need not be readable.
    if (isEncrypted(value)) return { outcome: "conflict", current: undefined };
    return { outcome: "conflict", current: this.#known(resource, key, modRevision, value) };
  }

  /** The revision that the cache has, if it is this one. */
  #known(resource: StoredResource, key: string, number: number, stored: Uint8Array): Revision {
    const cached = this.cache.of(resource).get(key);
    return cached?.number === number ? cached : this.#decoder.decode(resource, key, number, stored);
  }

  /** Waits until the cache shows the write. If it does not in time, the write still succeeds. */
  async #seen(revision: number): Promise<void> {
    if (this.cache.revision >= revision) return;
    await this.cache.reached(revision, FRESH_WITHIN_MS);
  }

  async #guarded<T>(
    operation: StoreOperation,
    resource: StoredResource,
    work: () => Promise<Result<T>>,
  ): Promise<Result<T>> {
    const { clock, metrics } = this.#options;
    const startMs = clock.elapsedMs();
    const result = await guarded(work);
    metrics.done(operation, resource, clock.elapsedMs() - startMs, !result.ok);
    return result;
  }
}

function spanOf(name: string, { group, plural, kind }: StoredResource, key: string): SpanOptions {
  const type = (): string =>
    kind.custom === undefined
      ? `*${internalPackageOf(kind.schema())}.${kind.names.kind}`
      : "*unstructured.Unstructured";
  return { name, attributes: () => ({ key, type: type(), group, resource: plural }) };
}

function storesOf(
  options: ObjectStoreOptions,
  overrides: readonly StoreOverride[],
): ReadonlyMap<string, ObjectStore> {
  return new Map(
    overrides.map(({ group, plural, store, encryption }) => {
      const found = options.resources.resource(group, plural);
      if (found === undefined) throw new Error(`${group}/${plural} has no store of its own`);
      const only = found.stored;
      const place = { store, encryption, local: false, only, overrides: [] };
      return [`${only.group}/${only.plural}`, new ObjectStore({ ...options, ...place })] as const;
    }),
  );
}
