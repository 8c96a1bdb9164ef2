/**
 * All objects of one resource as of the cache's revision, and the window of their latest changes.
 *
 * Promises:
 * 1. `apply` is synchronous: when it returns, reads show the change and its watchers were woken.
 * 2. Objects come in the order of their keys, as from the store.
 * 3. A subscription gets every change after its start once, in order, or is "overtaken".
 *    It holds a cursor, not a queue.
 */
import type { WorkPace } from "#lib/async/work-pace.ts";
import { OrderedMap } from "#lib/collections/ordered-map.ts";
import { JsonBudget } from "../storage/json-budget.ts";
import type { StoredResource } from "../storage/resources.ts";
import type { Revision } from "../storage/revision.ts";
import { CacheState } from "./cache-state.ts";
import { endOf, startOf } from "./key-range.ts";
import { type Change, WatchWindow } from "./watch-window.ts";

/** Wakes a subscription only for changes of objects with this value, before or after the change. */
export interface Trigger {
  readonly field: string;
  readonly value: string;
}

export interface SubscriptionOptions {
  /** Changes of other objects may be left out, but need not be. */
  readonly trigger?: Trigger | undefined;
  /** Deliver changes after this revision. */
  readonly afterRevision: number;
  /** There is something to pull. Called once until the next pull that finds nothing. */
  wake(): void;
  /** There will be no more changes: the resource was removed or redefined. */
  ended?(): void;
}

export type Observer = (next: Revision | undefined, old: Revision | undefined) => void;

export class ResourceCache {
  #resource: StoredResource;
  #isRemoved = false;
  readonly #objects = OrderedMap.byString<Revision>();
  /** The same objects by key: every write looks up the object that it replaces. */
  readonly #byKey = new Map<string, Revision>();
  readonly #window: WatchWindow;
  readonly #budget: JsonBudget;
  /** Each with the callback for the end of its changes. */
  readonly #subscriptions = new Map<Subscription, () => void>();
  readonly #observers = new Map<Observer, AbortSignal>();
  readonly #triggered = new Map<string, Map<string, Set<Subscription>>>();
  /** Lists served from this cache, the objects that they examined, and those that they returned. */
  readonly lists = { count: 0, looked: 0, found: 0 };
  /** Keys of objects that are in the store but cannot be decrypted: what there is of them is outdated. */
  readonly unreadable = new Set<string>();
  #lastChange: number;
  #bytes = 0;
  #loads = 0;
  #hasRaw = false;
  #changes = 0;

  constructor(resource: StoredResource, revision: number, budget = new JsonBudget()) {
    this.#resource = resource;
    this.#budget = budget;
    this.#window = new WatchWindow(revision);
    this.#lastChange = revision;
  }

  get resource(): StoredResource {
    return this.#resource;
  }

  /** The resource is not served any more: nothing is written to it, and its watches have ended. */
  get isRemoved(): boolean {
    return this.#isRemoved;
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** Of all objects' JSON together. */
  get bytes(): number {
    return this.#bytes;
  }

  get subscriptions(): number {
    return this.#subscriptions.size;
  }

  /** Subscriptions without a trigger: they get every change. */
  get generalSubscriptions(): number {
    return this.#triggered.get(ALWAYS.field)?.get(ALWAYS.value)?.size ?? 0;
  }

  /** Changes since the start. */
  get changes(): number {
    return this.#changes;
  }

  /** The revision of the last change: from then on the state has been what it is now. */
  get lastChange(): number {
    return this.#lastChange;
  }

  get completeSince(): number {
    return this.#window.completeSince;
  }

  /** Drops changes that are too old to be watched from. */
  trim(nowMs: number): void {
    this.#window.trim(nowMs);
  }

  get(key: string): Revision | undefined {
    return this.#byKey.get(key);
  }

  /** Objects whose keys begin with `prefix`, after the key `after` if given, in order: `countMax` at most. */
  list(prefix: string, after?: string, countMax?: number): Revision[] {
    if (this.#byKey.size === 0) return [];
    return this.#objects.valuesBetween(startOf(prefix, after), endOf(prefix), countMax);
  }

  /** Number of objects whose keys begin with `prefix`, after the key `after` if given. */
  count(prefix: string, after?: string): number {
    return this.#objects.countBetween(startOf(prefix, after), endOf(prefix));
  }

  /** The state as it is now, for a reader that takes its time. */
  fork(): OrderedMap<string, Revision> {
    return this.#objects.fork();
  }

  /** The state at a revision up to that of now; undefined if the window does not reach back so far. */
  stateAt(revision: number): CacheState | undefined {
    const first = this.#window.numberAfter(revision);
    if (first === undefined) return undefined;
    const before = new Map<string, Revision | undefined>();
    for (let number = first; number < this.#window.end; number++) {
      const { key, previous } = this.#window.at(number)!;
      if (!before.has(key)) before.set(key, previous);
    }
    return new CacheState(this.#objects.fork(), before);
  }

  /**
   * Takes the whole state as of a revision. Changes in between are lost, so every subscription is
   * overtaken; observers are called with the differences.
   */
  load(revisions: readonly Revision[], at: number): void {
    const before = this.#objects.fork();
    this.#releaseTexts();
    this.#objects.load(revisions.map((revision) => [revision.key, revision]));
    this.#byKey.clear();
    this.#bytes = 0;
    this.#loads += 1;
    this.#hasRaw = false;
    this.unreadable.clear();
    this.#lastChange = at;
    this.#window.reset(at);
    for (const revision of revisions) {
      this.#byKey.set(revision.key, revision);
      this.#bytes += revision.heldBytes;
      this.#budget.hold(revision);
      if (revision.isRaw) this.#hasRaw = true;
    }
    for (const subscription of this.#subscriptions.keys())
      subscription.notice(this.#window.start - 1);
    if (this.#observers.size > 0) this.#notifyOfDifference(before);
  }

  /** Some objects may have been loaded and not normalized. */
  get hasRaw(): boolean {
    return this.#hasRaw;
  }

  /** Resolves when a list costs no more than its bytes, see `Revision.normalize`. */
  async normalize(pace: WorkPace): Promise<void> {
    const load = this.#loads;
    for (const revision of this.list(this.#resource.prefix)) {
      revision.normalize();
      if (pace.isDue) await pace.rest();
    }
    if (load === this.#loads) this.#hasRaw = false;
  }

  /** The same objects under another definition of the resource. Watches begin anew. */
  redefine(resource: StoredResource): void {
    this.#resource = resource;
    this.endSubscriptions();
  }

  remove(): void {
    this.#isRemoved = true;
    this.#releaseTexts();
    this.#observers.clear();
    this.endSubscriptions();
  }

  /** Every subscription ends after what is pending. */
  endSubscriptions(): void {
    for (const ended of [...this.#subscriptions.values()]) ended();
  }

  /** Takes the place of another cache: its observers move here, and its objects are not counted any more. */
  replace(other: ResourceCache): void {
    for (const [observer, signal] of other.#observers) this.observe(observer, signal);
    other.#observers.clear();
    other.#releaseTexts();
  }

  /** Calls the observer with every change, in order, after reads show it. */
  observe(observer: Observer, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#observers.set(observer, signal);
    signal.addEventListener("abort", () => this.#observers.delete(observer), { once: true });
  }

  apply(change: Change, nowMs: number): void {
    const { key, object, deleted, previous } = change;
    if (deleted) {
      this.#objects.delete(key);
      this.#byKey.delete(key);
    } else {
      this.#objects.setSoon(key, object);
      this.#byKey.set(key, object);
    }
    this.unreadable.delete(key);
    this.#bytes += (deleted ? 0 : object.heldBytes) - (previous?.heldBytes ?? 0);
    if (previous !== undefined) this.#budget.release(previous);
    if (!deleted) this.#budget.hold(object);
    this.#lastChange = change.revision;
    this.#changes += 1;
    this.#window.push(change, nowMs);
    this.#wake(change);
    for (const observer of this.#observers.keys()) observer(deleted ? undefined : object, previous);
  }

  /** Undefined if the window does not reach back so far. */
  subscribe(options: SubscriptionOptions): Subscription | undefined {
    const cursor = this.#window.numberAfter(options.afterRevision);
    if (cursor === undefined) return undefined;
    const subscription = new Subscription(this.#window, cursor, options.wake, () =>
      this.#forget(subscription, options.trigger),
    );
    this.#subscriptions.set(subscription, () => options.ended?.());
    if (options.trigger !== undefined) this.#triggerSet(options.trigger).add(subscription);
    else this.#triggerSet(ALWAYS).add(subscription);
    if (this.#isRemoved) options.ended?.();
    return subscription;
  }

  #releaseTexts(): void {
    for (const revision of this.#byKey.values()) this.#budget.release(revision);
  }

  #notifyOfDifference(before: OrderedMap<string, Revision>): void {
    for (const [key, old] of before.entriesFrom()) {
      if (!this.#byKey.has(key))
        for (const observer of this.#observers.keys()) observer(undefined, old);
    }
    for (const [key, revision] of this.#objects.entriesFrom()) {
      const old = before.get(key);
      if (old?.number !== revision.number)
        for (const observer of this.#observers.keys()) observer(revision, old);
    }
  }

  #wake(change: Change): void {
    const number = this.#window.end - 1;
    const always = this.#triggered.get(ALWAYS.field)?.get(ALWAYS.value);
    if (always !== undefined) for (const subscription of always) subscription.notice(number);
    for (const [field, byValue] of this.#triggered) {
      if (field === ALWAYS.field) continue;
      const now = fieldOf(change.object, field);
      const before = change.previous === undefined ? now : fieldOf(change.previous, field);
      for (const subscription of byValue.get(now) ?? []) subscription.notice(number);
      if (before === now) continue;
      for (const subscription of byValue.get(before) ?? []) subscription.notice(number);
    }
  }

  #triggerSet({ field, value }: Trigger): Set<Subscription> {
    const byValue = this.#triggered.get(field) ?? new Map<string, Set<Subscription>>();
    this.#triggered.set(field, byValue);
    const set = byValue.get(value) ?? new Set();
    byValue.set(value, set);
    return set;
  }

  #forget(subscription: Subscription, { field, value }: Trigger = ALWAYS): void {
    this.#subscriptions.delete(subscription);
    const byValue = this.#triggered.get(field);
    byValue?.get(value)?.delete(subscription);
    if (byValue?.get(value)?.size === 0) byValue.delete(value);
    if (byValue?.size === 0) this.#triggered.delete(field);
  }
}

const ALWAYS: Trigger = { field: "", value: "" };

function fieldOf(revision: Revision, field: string): string {
  const { metadata } = revision.value;
  if (field === "metadata.name") return metadata.name ?? "";
  if (field === "metadata.namespace") return metadata.namespace ?? "";
  return revision.kind.selectableFields?.(revision.value)[field] ?? "";
}

/** A place in the window of changes. */
export class Subscription implements Disposable {
  readonly #window: WatchWindow;
  readonly #wake: () => void;
  readonly #close: () => void;
  /** The next change to hand out; undefined while there is none that matters. */
  #cursor: number | undefined;
  #awake = false;

  constructor(window: WatchWindow, cursor: number, wake: () => void, close: () => void) {
    this.#window = window;
    this.#cursor = cursor < window.end ? cursor : undefined;
    this.#awake = this.#cursor !== undefined;
    this.#wake = wake;
    this.#close = close;
  }

  /** Whether a pull would find something. */
  get pending(): boolean {
    return this.#cursor !== undefined;
  }

  /**
   * Up to `countMax` changes; none when there are no more for now. "overtaken" when changes have
   * left the window before they could be pulled.
   */
  pull(countMax: number): readonly Change[] | "overtaken" {
    if (this.#cursor === undefined) {
      this.#awake = false;
      return NOTHING;
    }
    if (this.#cursor < this.#window.start) return "overtaken";
    const changes: Change[] = [];
    while (changes.length < countMax && this.#cursor < this.#window.end) {
      changes.push(this.#window.at(this.#cursor)!);
      this.#cursor += 1;
    }
    if (this.#cursor >= this.#window.end) this.#cursor = undefined;
    return changes;
  }

  /** Notifies the subscription of a change that it wants. */
  notice(number: number): void {
    this.#cursor ??= number;
    if (this.#awake) return;
    this.#awake = true;
    this.#wake();
  }

  [Symbol.dispose](): void {
    this.#close();
  }
}

const NOTHING: readonly Change[] = [];
