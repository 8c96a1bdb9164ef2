/**
 * The store's current state in memory, one ResourceCache for each resource, fed by one watch.
 *
 * Promises:
 * 1. `revision` only grows. Every cache shows exactly the state at that revision: one watch covers
 *    all resources, so there is no order between them to get wrong.
 * 2. In a local store a write shows here before it is acknowledged; otherwise `reached` waits for it.
 * 3. When the watch breaks in a way that loses changes, everything is loaded again and all
 *    subscriptions are overtaken; until then reads that need the latest state wait.
 * 4. It follows the registry: a resource that is added shows when its objects are loaded, watches of
 *    one that is removed or replaced end.
 */
import { jsonEqual } from "#api/patch/json-value.ts";
import { onAbort } from "#lib/async/aborted.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock, Timer } from "#lib/time/clock.ts";
import { type Deadline, Deadlines } from "#lib/time/deadlines.ts";
import type { Entry, Store, WatchBatch, WatchEvent } from "#store/contract.ts";
import { StoreError } from "#store/contract.ts";
import type { KindRegistry, RegistryChange } from "../registry/kind-registry.ts";
import { JsonBudget } from "../storage/json-budget.ts";
import { REGISTRY, type StoredResource } from "../storage/resources.ts";
import type { Revision } from "../storage/revision.ts";
import { CacheSet } from "./cache-set.ts";
import { ResourceCache } from "./resource-cache.ts";
import { UnclaimedEntries } from "./unclaimed-entries.ts";

const PAGE = 1_000;
const RETRY_MS = 250;
const LOADING_EVENTS_MAX = 20_000;
/** How long a new resource waits until the watch reaches the revision at which it was read. */
const LOAD_WITHIN_MS = 30_000;
/** Delay after a change until all kinds are trimmed, including idle ones. */
const TRIM_AFTER_MS = 80_000;
const SUPERSEDE_AFTER_MS = 60_000;
/** Upstream's key; no object has it. */
const COMPACTION_KEY = "compact_rev_key";
/** All keys: so each revision of the store arrives here as a change, without progress requests. */
const EVERYTHING = "";

export interface WatchCacheOptions {
  readonly store: Store;
  readonly resources: KindRegistry;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The one resource that the store is for (`--etcd-servers-overrides`); all of the registry unless given. */
  readonly only?: StoredResource | undefined;
  /** Decodes a stored value; `isKept` if it was read together with others that are kept as long. */
  decode(
    resource: StoredResource,
    key: string,
    revision: number,
    stored: Uint8Array,
    isKept: boolean,
  ): Revision;
}

export class WatchCache {
  readonly #options: WatchCacheOptions;
  readonly #caches = new CacheSet();
  readonly #loading = new Set<Loading>();
  readonly #waiters = new Set<Waiter>();
  readonly #deadlines: Deadlines;
  readonly #budget = new JsonBudget();
  /** Until all definitions of custom resources have been read. */
  #unclaimed: UnclaimedEntries | undefined;
  #revision = 0;
  #loaded = false;
  #loads = 0;
  #trimTimer: Timer | undefined;
  #supersedeTimer: Timer | undefined;

  constructor(options: WatchCacheOptions) {
    this.#options = options;
    this.#deadlines = new Deadlines(options.clock);
    const { only } = options;
    if (only !== undefined) {
      this.#caches.add(new ResourceCache(only, this.#revision, this.#budget));
      return;
    }
    for (const resource of options.resources.stored()) {
      this.#caches.add(new ResourceCache(resource, this.#revision, this.#budget));
    }
    options.resources.prepareWith((change, commit) => this.#change(change, commit));
  }

  get revision(): number {
    return this.#revision;
  }

  /** Whether it follows the store right now. */
  get current(): boolean {
    return this.#loaded;
  }

  of(resource: StoredResource): ResourceCache {
    return this.#caches.currentOrRetired(resource);
  }

  all(): Iterable<ResourceCache> {
    return this.#caches.all();
  }

  /** Waits until the cache shows this revision; false when `timeoutMs` pass without. */
  async reached(revision: number, timeoutMs: number): Promise<boolean> {
    if (this.#revision >= revision && this.#loaded) return true;
    return await new Promise((resolve) => {
      const waiter: Waiter = {
        revision,
        atMs: this.#options.clock.elapsedMs() + timeoutMs,
        resolve,
        expire: () => this.#settle(waiter, false),
      };
      this.#waiters.add(waiter);
      this.#deadlines.add(waiter);
    });
  }

  /** How often the state was loaded. */
  get loads(): number {
    return this.#loads;
  }

  /** Loads the state. Throws the StoreError of a store that cannot be read. */
  async load(): Promise<void> {
    const loaded = new Map<ResourceCache, Revision[]>();
    const prefix = this.#options.only?.prefix ?? REGISTRY;
    const unclaimed = this.#loads === 0 ? new UnclaimedEntries() : undefined;
    this.#unclaimed = undefined;
    const { atRevision, unreadable } = await this.#read(prefix, (entry) => {
      const cache = this.#caches.ofKey(entry.key);
      if (cache === undefined) return unclaimed?.add(entry);
      const revisions = loaded.get(cache) ?? [];
      loaded.set(cache, revisions);
      revisions.push(this.#decode(cache.resource, entry));
    });
    this.#revision = atRevision;
    this.#loaded = true;
    this.#loads += 1;
    this.#unclaimed = unclaimed;
    for (const cache of this.#caches.all()) cache.load(loaded.get(cache) ?? [], atRevision);
    for (const key of unreadable) this.#caches.ofKey(key)?.unreadable.add(key);
    for (const loading of this.#loading) loading.isBroken = true; // changes in between are lost
    this.#settleWaiters();
  }

  /** Resources that are added from now on are read from the store. What `load` read was kept for them. */
  forgetUnclaimed(): void {
    this.#unclaimed = undefined;
  }

  /**
   * Takes an object that could not be decrypted when its change came. The change is shown as one of
   * now. A newer change of the object wins.
   */
  recover(resource: StoredResource, object: Revision): void {
    const cache = this.of(resource);
    const { key } = object;
    const previous = cache.get(key);
    const isNewer = (previous?.number ?? 0) < object.number && object.number <= this.#revision;
    if (!cache.unreadable.has(key) || !isNewer) return;
    const change = { revision: this.#revision, key, object, previous, frames: undefined };
    cache.apply({ ...change, deleted: false }, this.#options.clock.nowMs());
  }

  /**
   * Writes a new revision if this one is still the newest after a while: the store never compacts the
   * newest one, so in an idle cluster continue tokens would never expire. Upstream's compactor writes
   * the same key every five minutes; here it is written only if a continue token was handed out.
   */
  supersede(revision: number): void {
    const { clock, store, logger } = this.#options;
    if (revision < this.#revision) return;
    this.#supersedeTimer ??= clock.schedule(SUPERSEDE_AFTER_MS, () => {
      this.#supersedeTimer = undefined;
      if (this.#revision > revision) return;
      store.put(COMPACTION_KEY, Buffer.from(String(revision))).catch((error: unknown) => {
        logger.warn("the revision could not be superseded", { error });
      });
    });
  }

  /** Follows the store until the signal aborts. `load` comes first. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    onAbort(signal, () => {
      this.#trimTimer?.cancel();
      this.#supersedeTimer?.cancel();
    });
    while (!signal.aborted) {
      try {
        if (!this.#loaded) await this.load();
        await this.#follow(signal);
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof StoreError)) throw error;
        if (LOSES_CHANGES.has(error.problem.code)) this.#loaded = false;
        logger.warn("watch of the store ended", { error });
        await clock.sleep(RETRY_MS, signal).catch(() => undefined);
      }
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const fromRevision = this.#revision + 1;
    const options = { fromRevision, signal, withPrevValue: false };
    const watch = this.#options.store.watch(EVERYTHING, options);
    await watch.deliverTo((batch) => this.#apply(batch));
  }

  #apply(batch: WatchBatch): void {
    const nowMs = this.#options.clock.nowMs();
    for (const event of batch.events) {
      for (const loading of this.#loading) keepFor(loading, event);
      const cache = this.#caches.ofKey(event.key);
      if (cache !== undefined) this.#applyReadable(cache, event, nowMs);
      else this.#unclaimed?.noticeChange(event.key);
    }
    if (batch.revision > this.#revision) this.#revision = batch.revision;
    if (this.#waiters.size > 0) this.#settleWaiters();
    if (this.#trimTimer === undefined) this.#trimLater();
  }

  /** Repeats if anything changed meanwhile, because that is not old enough yet. */
  #trimLater(): void {
    const { clock } = this.#options;
    const revision = this.#revision;
    this.#trimTimer = clock.schedule(TRIM_AFTER_MS, () => {
      for (const cache of this.#caches.all()) cache.trim(clock.nowMs());
      this.#trimTimer = undefined;
      if (this.#revision > revision) this.#trimLater();
    });
  }

  /** One object that cannot be read must not stop all the others. */
  #applyReadable(cache: ResourceCache, event: WatchEvent, nowMs: number): void {
    const { key } = event;
    try {
      this.#applyTo(cache, event, nowMs);
    } catch (error) {
      cache.unreadable.add(key);
      this.#options.logger.error("a stored object cannot be read", { error, key });
    }
  }

  #applyTo(cache: ResourceCache, event: WatchEvent, nowMs: number): void {
    const { key, revision, value, type } = event;
    const previous = cache.get(key);
    if (type === "delete") {
      cache.unreadable.delete(key);
      if (previous === undefined) return;
      const object = previous.renumbered(revision);
      cache.apply({ revision, key, object, deleted: true, previous, frames: undefined }, nowMs);
      return;
    }
    const object = this.#options.decode(cache.resource, key, revision, value, false);
    cache.apply({ revision, key, object, deleted: false, previous, frames: undefined }, nowMs);
  }

  /** Reads everything under a prefix as of one revision. */
  async #read(prefix: string, take: (entry: Entry) => void): Promise<ReadState> {
    const { store } = this.#options;
    const unreadable: string[] = [];
    let atRevision: number | undefined;
    let startAfter: string | undefined;
    for (;;) {
      const page = await store.range(prefix, {
        limit: PAGE,
        packed: true,
        ...(atRevision === undefined ? {} : { atRevision }),
        ...(startAfter === undefined ? {} : { startAfter }),
      });
      atRevision = page.revision;
      this.#takeReadable(page.entries, take, unreadable);
      startAfter = page.entries.at(-1)?.key;
      if (page.remaining === 0 || startAfter === undefined) return { atRevision, unreadable };
    }
  }

  #takeReadable(
    entries: readonly Entry[],
    take: (entry: Entry) => void,
    unreadable: string[],
  ): void {
    for (const entry of entries) {
      try {
        take(entry);
      } catch (error) {
        const { key } = entry;
        unreadable.push(key);
        this.#options.logger.error("a stored object cannot be read", { error, key });
      }
    }
  }

  #decode(resource: StoredResource, { key, modRevision, value }: Entry): Revision {
    return this.#options.decode(resource, key, modRevision, value, true);
  }

  /** Follows a change of the registry; from `commit` on it shows. */
  async #change({ old, next }: RegistryChange, commit: () => void): Promise<void> {
    const before = old?.ownsStorage ? this.#caches.get(old.stored) : undefined;
    if (next === undefined || !next.ownsStorage) {
      if (before !== undefined) this.#caches.retire(before);
      commit();
      before?.remove();
      return;
    }
    if (before !== undefined && isStoredAlike(before.resource, next.stored)) {
      this.#caches.retire(before);
      before.redefine(next.stored);
      this.#caches.add(before);
      commit();
      return;
    }
    await this.#loadOne(next.stored, (cache) => {
      if (before !== undefined) this.#caches.retire(before);
      this.#caches.add(cache);
      commit();
      if (before === undefined) return;
      cache.replace(before);
      before.endSubscriptions();
    });
  }

  /** Loads the objects of a new resource and hands its cache over in the turn in which it is current. */
  async #loadOne(resource: StoredResource, then: (cache: ResourceCache) => void): Promise<void> {
    const { clock } = this.#options;
    const known = this.#loaded ? this.#unclaimed?.take(resource.prefix) : undefined;
    if (known !== undefined) {
      const revisions: Revision[] = [];
      const unreadable: string[] = [];
      const take = (entry: Entry): void => void revisions.push(this.#decode(resource, entry));
      this.#takeReadable(known, take, unreadable);
      then(this.#loadedCache(resource, this.#revision, revisions, unreadable));
      return;
    }
    for (;;) {
      const loading: Loading = { prefix: resource.prefix, events: [], isBroken: !this.#loaded };
      this.#loading.add(loading);
      try {
        const revisions: Revision[] = [];
        const { atRevision: at, unreadable } = await this.#read(resource.prefix, (entry) => {
          revisions.push(this.#decode(resource, entry));
        });
        const isReached = await this.reached(at, LOAD_WITHIN_MS);
        if (isReached && !loading.isBroken) {
          const cache = this.#loadedCache(resource, at, revisions, unreadable);
          for (const event of loading.events) {
            if (event.revision > at) this.#applyReadable(cache, event, clock.nowMs());
          }
          then(cache);
          return;
        }
      } finally {
        this.#loading.delete(loading);
      }
    }
  }

  #loadedCache(
    resource: StoredResource,
    at: number,
    revisions: readonly Revision[],
    unreadable: readonly string[],
  ): ResourceCache {
    const cache = new ResourceCache(resource, at, this.#budget);
    cache.load(revisions, at);
    for (const key of unreadable) cache.unreadable.add(key);
    return cache;
  }

  #settle(waiter: Waiter, reached: boolean): void {
    this.#deadlines.delete(waiter);
    this.#waiters.delete(waiter);
    waiter.resolve(reached);
  }

  #settleWaiters(): void {
    if (!this.#loaded) return;
    for (const waiter of this.#waiters) {
      if (waiter.revision <= this.#revision) this.#settle(waiter, true);
    }
  }
}

const LOSES_CHANGES: ReadonlySet<string> = new Set(["Compacted", "SlowConsumer", "FutureRevision"]);

interface ReadState {
  readonly atRevision: number;
  /** Keys of objects that cannot be decrypted. */
  readonly unreadable: readonly string[];
}

/** The objects of a resource are being read; its changes are kept until they have been. */
interface Loading {
  readonly prefix: string;
  readonly events: WatchEvent[];
  /** Changes were lost meanwhile. */
  isBroken: boolean;
}

/** Too many changes mean that the objects are read again. */
function keepFor(loading: Loading, event: WatchEvent): void {
  if (!event.key.startsWith(loading.prefix) || loading.isBroken) return;
  loading.events.push(event);
  if (loading.events.length < LOADING_EVENTS_MAX) return;
  loading.isBroken = true;
  loading.events.length = 0;
}

/** Whether both definitions decode stored objects the same way, so that the cache can be kept. */
function isStoredAlike(a: StoredResource, b: StoredResource): boolean {
  return (
    a.prefix === b.prefix &&
    a.kind.apiVersion === b.kind.apiVersion &&
    a.kind.names.kind === b.kind.names.kind &&
    a.kind.scope === b.kind.scope &&
    jsonEqual(a.kind.custom?.storedSchema, b.kind.custom?.storedSchema)
  );
}

interface Waiter extends Deadline {
  readonly revision: number;
  resolve(reached: boolean): void;
}
