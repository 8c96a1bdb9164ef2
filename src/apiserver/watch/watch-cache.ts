/**
 * The store's current state in memory, one ResourceCache for each resource, fed by one watch.
 *
 * Promises:
 * 1. `revision` only grows. Every cache shows exactly the state at that revision: one watch covers
 *    all resources, so there is no order between them to get wrong.
 * 2. In a local store a write shows here before it is acknowledged; otherwise `reached` waits for it.
 * 3. When the watch breaks in a way that loses changes, everything is loaded again and all
 *    subscriptions are overtaken; until then reads that need the latest state wait.
 */
import { onAbort } from "#lib/aborted.ts";
import type { Clock, Timer } from "#lib/clock.ts";
import type { Logger } from "#lib/logger.ts";
import type { Store, WatchBatch, WatchEvent } from "#store/contract.ts";
import { StoreError } from "#store/contract.ts";
import { REGISTRY, type Resources, type StoredResource } from "../storage/resources.ts";
import type { Revision } from "../storage/revision.ts";
import { ResourceCache } from "./resource-cache.ts";

const PAGE = 1_000;
const RETRY_MS = 250;
/** How long after a change all kinds are trimmed, also those that do not change any more. */
const TRIM_AFTER_MS = 80_000;
/** All keys: so each revision of the store is a change that comes here, and none has to be asked for. */
const EVERYTHING = "";

export interface WatchCacheOptions {
  readonly store: Store;
  readonly resources: Resources;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Makes an object of what the store holds. */
  decode(resource: StoredResource, key: string, revision: number, stored: Uint8Array): Revision;
}

export class WatchCache {
  readonly #options: WatchCacheOptions;
  readonly #caches = new Map<StoredResource, ResourceCache>();
  readonly #byFirst = new Map<string, ResourceCache[]>();
  readonly #waiters = new Set<Waiter>();
  #revision = 0;
  #loaded = false;
  #loads = 0;
  #trimTimer: Timer | undefined;

  constructor(options: WatchCacheOptions) {
    this.#options = options;
    for (const resource of options.resources.stored()) this.#add(resource);
  }

  get revision(): number {
    return this.#revision;
  }

  /** Whether it follows the store right now. */
  get current(): boolean {
    return this.#loaded;
  }

  of(resource: StoredResource): ResourceCache {
    const cache = this.#caches.get(resource);
    if (cache === undefined) throw new Error(`${resource.plural} has no cache`);
    return cache;
  }

  all(): Iterable<ResourceCache> {
    return this.#caches.values();
  }

  /** Waits until the cache shows this revision; false when `timeoutMs` pass without. */
  async reached(revision: number, timeoutMs: number): Promise<boolean> {
    if (this.#revision >= revision && this.#loaded) return true;
    return await new Promise((resolve) => {
      const timer = this.#options.clock.schedule(timeoutMs, () => settle(false));
      const settle = (reached: boolean): void => {
        timer.cancel();
        this.#waiters.delete(waiter);
        resolve(reached);
      };
      const waiter: Waiter = { revision, settle };
      this.#waiters.add(waiter);
    });
  }

  /** How often the state was loaded. */
  get loads(): number {
    return this.#loads;
  }

  /** Loads the state. Throws the StoreError of a store that cannot be read. */
  async load(): Promise<void> {
    const { store, decode, logger } = this.#options;
    let atRevision: number | undefined;
    let startAfter: string | undefined;
    const loaded = new Map<ResourceCache, Revision[]>();
    for (;;) {
      const page = await store.range(REGISTRY, {
        limit: PAGE,
        ...(atRevision === undefined ? {} : { atRevision }),
        ...(startAfter === undefined ? {} : { startAfter }),
      });
      atRevision = page.revision;
      for (const { key, value, modRevision } of page.entries) {
        const cache = this.#cacheOf(key);
        if (cache === undefined) continue;
        const revisions = loaded.get(cache) ?? [];
        loaded.set(cache, revisions);
        try {
          revisions.push(decode(cache.resource, key, modRevision, value));
        } catch (error) {
          logger.error("a stored object cannot be read", { error, key });
        }
      }
      startAfter = page.entries.at(-1)?.key;
      if (page.remaining === 0 || startAfter === undefined) break;
    }
    this.#revision = atRevision;
    this.#loaded = true;
    this.#loads += 1;
    for (const cache of this.#caches.values()) cache.load(loaded.get(cache) ?? [], atRevision);
    this.#settleWaiters();
  }

  /** Follows the store until the signal aborts. `load` comes first. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    onAbort(signal, () => this.#trimTimer?.cancel());
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
      try {
        this.#applyEvent(event, nowMs);
      } catch (error) {
        // One object that cannot be read must not stop all the others.
        this.#options.logger.error("a stored object cannot be read", { error, key: event.key });
      }
    }
    if (batch.revision > this.#revision) this.#revision = batch.revision;
    if (this.#waiters.size > 0) this.#settleWaiters();
    if (this.#trimTimer === undefined) this.#trimLater();
  }

  /** And again, if anything changed meanwhile: that is not old enough then. */
  #trimLater(): void {
    const { clock } = this.#options;
    const revision = this.#revision;
    this.#trimTimer = clock.schedule(TRIM_AFTER_MS, () => {
      for (const cache of this.#caches.values()) cache.trim(clock.nowMs());
      this.#trimTimer = undefined;
      if (this.#revision > revision) this.#trimLater();
    });
  }

  #applyEvent(event: WatchEvent, nowMs: number): void {
    const { key, revision, value, type } = event;
    const cache = this.#cacheOf(key);
    if (cache === undefined) return;
    const previous = cache.get(key);
    if (type === "delete") {
      if (previous === undefined) return;
      const object = previous.renumbered(revision);
      cache.apply({ revision, key, object, deleted: true, previous, frames: undefined }, nowMs);
      return;
    }
    const object = this.#options.decode(cache.resource, key, revision, value);
    cache.apply({ revision, key, object, deleted: false, previous, frames: undefined }, nowMs);
  }

  #settleWaiters(): void {
    for (const waiter of [...this.#waiters]) {
      if (this.#loaded && waiter.revision <= this.#revision) waiter.settle(true);
    }
  }

  #add(resource: StoredResource): void {
    const cache = new ResourceCache(resource, this.#revision);
    this.#caches.set(resource, cache);
    const first = firstSegment(resource.prefix);
    this.#byFirst.set(first, [...(this.#byFirst.get(first) ?? []), cache]);
  }

  #cacheOf(key: string): ResourceCache | undefined {
    if (!key.startsWith(REGISTRY)) return undefined;
    const candidates = this.#byFirst.get(firstSegment(key));
    return candidates?.find(({ resource }) => key.startsWith(resource.prefix));
  }
}

const LOSES_CHANGES: ReadonlySet<string> = new Set(["Compacted", "SlowConsumer", "FutureRevision"]);

interface Waiter {
  readonly revision: number;
  settle(reached: boolean): void;
}

function firstSegment(key: string): string {
  return key.slice(REGISTRY.length, key.indexOf("/", REGISTRY.length));
}
