/**
 * What an informer knows: the current objects of one kind, with indexes.
 *
 * Promises:
 * 1. Objects are those the server sent, never changed, never copied unless the informer transforms them.
 * 2. Every index is kept with each change; asking one costs no scan. Those by namespace and by controller
 *    are made by the first question.
 * 3. Listeners get each change once, after the cache shows it, in the server's order.
 * 4. `waitFor` resolves as soon as the cache is at least as new as a write, by a watch event or a list.
 */
import type { KubeObject } from "#api/kind.ts";
import { Emitter } from "#lib/events.ts";
import { type Expectation, OwnWrites } from "./own-writes.ts";

export interface Change<T> {
  readonly next: T | undefined;
  readonly old: T | undefined;
}

export interface ReadCache<T extends KubeObject> {
  readonly size: number;
  get(namespace: string | undefined, name: string): T | undefined;
  byUid(uid: string): T | undefined;
  /** All, or those of one namespace. */
  list(namespace?: string): Iterable<T>;
  /** Objects whose controlling owner has this uid. */
  controlledBy(uid: string): Iterable<T>;
  /** Objects for which the index of that name gave this value. */
  byIndex(index: string, value: string): Iterable<T>;
  hasIndex(index: string): boolean;
}

export type IndexFunction<T> = (object: T) => readonly string[];

const BY_NAMESPACE = "namespace";
const BY_CONTROLLER = "controller";
/** Every cache has them from the first question on: those that are never asked pay nothing for them. */
const BUILT_IN: ReadonlyMap<string, IndexFunction<KubeObject>> = new Map([
  [BY_NAMESPACE, ({ metadata }: KubeObject) => [metadata.namespace ?? ""]],
  [
    BY_CONTROLLER,
    ({ metadata }: KubeObject) =>
      (metadata.ownerReferences ?? []).flatMap((o) => (o.controller ? [o.uid] : [])),
  ],
]);

/** Writes are waited for at once, so that few removals lie between a write and its wait. */
const REMOVED_MAX = 256;

export class Cache<T extends KubeObject> implements ReadCache<T> {
  readonly #objects = new Map<string, T>();
  /** Made when it is first asked for. */
  #byUid: Map<string, T> | undefined;
  readonly #indexes = new Map<string, Index<T>>();
  readonly #events = new Emitter<{ change: Change<T> }>();
  readonly #arrivals = new OwnWrites();
  /** Of objects that came and went: a write to one of them was seen, though it is not there. */
  readonly #removedUids = new Set<string>();

  get size(): number {
    return this.#objects.size;
  }

  addIndex(name: string, values: IndexFunction<T>): void {
    const known = this.#indexes.get(name);
    if (known !== undefined) {
      if (known.values === values) return;
      throw new Error(`another index is called ${JSON.stringify(name)}`);
    }
    const index = new Index(values);
    for (const object of this.#objects.values()) index.add(object);
    this.#indexes.set(name, index);
  }

  get(namespace: string | undefined, name: string): T | undefined {
    return this.#objects.get(keyOf(namespace, name));
  }

  byUid(uid: string): T | undefined {
    this.#byUid ??= new Map(
      Array.from(this.#objects.values(), (object) => [object.metadata.uid ?? "", object]),
    );
    return this.#byUid.get(uid);
  }

  list(namespace?: string): Iterable<T> {
    return namespace === undefined ? this.#objects.values() : this.byIndex(BY_NAMESPACE, namespace);
  }

  controlledBy(uid: string): Iterable<T> {
    return this.byIndex(BY_CONTROLLER, uid);
  }

  hasIndex(name: string): boolean {
    return this.#indexes.has(name) || BUILT_IN.has(name);
  }

  byIndex(name: string, value: string): Iterable<T> {
    let index = this.#indexes.get(name);
    if (index === undefined) {
      const values = BUILT_IN.get(name);
      if (values === undefined) throw new Error(`no index ${JSON.stringify(name)}`);
      this.addIndex(name, values);
      index = this.#indexes.get(name)!;
    }
    return index.get(value);
  }

  on(listener: (change: Change<T>) => void, signal?: AbortSignal): void {
    this.#events.on("change", listener, signal);
  }

  /** Takes in one object; an older one than it has is ignored. */
  put(object: T): void {
    const key = keyOfObject(object);
    const old = this.#objects.get(key);
    if (old !== undefined && !isNewer(object, old)) return;
    this.#objects.set(key, object);
    this.#reindex(key, old, object);
    this.#settle(key);
    this.#events.emit("change", { next: object, old });
  }

  remove(object: T): void {
    const key = keyOfObject(object);
    const old = this.#objects.get(key);
    if (old === undefined) return;
    this.#objects.delete(key);
    this.#reindex(key, old, undefined);
    this.#noteRemoved(old.metadata.uid ?? "");
    this.#settle(key);
    // The last state that the server sent may be newer than the one that was cached.
    this.#events.emit("change", { next: undefined, old: isNewer(object, old) ? object : old });
  }

  /** After a relist: what is not among `current` is gone. */
  retain(current: ReadonlySet<string>): void {
    for (const object of [...this.#objects.values()]) {
      if (!current.has(keyOfObject(object))) this.remove(object);
    }
  }

  /** Resync: calls the listeners with every object once more. */
  repeat(): void {
    for (const object of [...this.#objects.values()]) {
      this.#events.emit("change", { next: object, old: object });
    }
  }

  isSeen({ namespace, name, uid, resourceVersion }: Expectation): boolean {
    const object = this.get(namespace, name);
    if (object === undefined) return resourceVersion === undefined || this.#removedUids.has(uid);
    if (object.metadata.uid !== uid) return true; // another object has taken its place
    if (resourceVersion === undefined) return object.metadata.deletionTimestamp !== undefined;
    return Number(object.metadata.resourceVersion) >= Number(resourceVersion);
  }

  /** Resolves when the cache shows a write, rejects when the signal aborts. */
  waitFor(expected: Expectation, signal: AbortSignal): Promise<void> {
    if (this.isSeen(expected)) return Promise.resolve();
    return this.#arrivals.wait(keyOf(expected.namespace, expected.name), expected, signal);
  }

  #reindex(key: string, old: T | undefined, next: T | undefined): void {
    for (const index of this.#indexes.values()) index.replace(key, old, next);
    if (this.#byUid === undefined) return;
    const [before, uid] = [old?.metadata.uid, next?.metadata.uid];
    if (before !== undefined && before !== uid) this.#byUid.delete(before);
    if (next !== undefined && uid !== undefined) this.#byUid.set(uid, next);
  }

  #noteRemoved(uid: string): void {
    this.#removedUids.add(uid);
    if (this.#removedUids.size <= REMOVED_MAX) return;
    const [oldest = ""] = this.#removedUids;
    this.#removedUids.delete(oldest);
  }

  #settle(key: string): void {
    this.#arrivals.settle(key, (expected) => this.isSeen(expected));
  }
}

export function keyOf(namespace: string | undefined, name: string): string {
  return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
}

function isNewer(next: KubeObject, old: KubeObject): boolean {
  return Number(next.metadata.resourceVersion) >= Number(old.metadata.resourceVersion);
}

/**
 * Objects by the values that a function gives for them. An object whose values stay the same keeps its
 * place: in large maps, taking it out and in again would rebuild them over and over.
 */
class Index<T extends KubeObject> {
  readonly values: IndexFunction<T>;
  /** Values with one object, as most have in some indexes, need no map for it. */
  readonly #members = new Map<string, Map<string, T> | T>();

  constructor(values: IndexFunction<T>) {
    this.values = values;
  }

  get(value: string): Iterable<T> {
    const members = this.#members.get(value);
    if (members === undefined) return [];
    return members instanceof Map ? members.values() : [members];
  }

  add(object: T): void {
    this.replace(keyOfObject(object), undefined, object);
  }

  replace(key: string, old: T | undefined, next: T | undefined): void {
    const after = next === undefined ? NO_VALUES : this.values(next);
    if (old !== undefined) {
      for (const value of this.values(old)) if (!after.includes(value)) this.#remove(value, key);
    }
    if (next !== undefined) for (const value of after) this.#set(value, key, next);
  }

  #set(value: string, key: string, object: T): void {
    const members = this.#members.get(value);
    if (members instanceof Map) members.set(key, object);
    else if (members === undefined || keyOfObject(members) === key)
      this.#members.set(value, object);
    else {
      const both = new Map([[keyOfObject(members), members]]);
      this.#members.set(value, both.set(key, object));
    }
  }

  #remove(value: string, key: string): void {
    const members = this.#members.get(value);
    if (members instanceof Map) {
      members.delete(key);
      if (members.size === 0) this.#members.delete(value);
    } else if (members !== undefined && keyOfObject(members) === key) this.#members.delete(value);
  }
}

const NO_VALUES: readonly string[] = [];

function keyOfObject({ metadata }: KubeObject): string {
  return keyOf(metadata.namespace, metadata.name ?? "");
}
