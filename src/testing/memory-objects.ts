/** `Objects` over plain maps, for tests of what reads them. Objects are frozen on the way in. */
import type { Status } from "#api/generated/meta.v1.ts";
import type { Draft, Kind, KindOf, KubeObject } from "#api/kind.ts";
import {
  alreadyExistsStatus,
  failure,
  notFoundStatus,
  type Result,
  success,
} from "#api/meta/status.ts";
import type { Objects } from "#apiserver/storage/objects.ts";

type Listener = (next: KubeObject | undefined, old: KubeObject | undefined) => void;

export class MemoryObjects implements Objects {
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  readonly #listeners = new Map<string, Set<Listener>>();
  #revision = 0;

  /** Puts an object there as if it had been written, and calls the listeners. */
  put<T extends KubeObject>(kind: KindOf<T>, object: Draft<T> | T): T {
    const { name = "", namespace = "" } = object.metadata;
    const old = this.#of(kind).get(`${namespace}/${name}`);
    const metadata = { ...object.metadata, resourceVersion: String(++this.#revision) };
    const next = freeze({ ...object, metadata }) as T;
    this.#of(kind).set(`${namespace}/${name}`, next);
    this.#notify(kind, next, old);
    return next;
  }

  get<T extends KubeObject>(kind: KindOf<T>, namespace: string, name: string): T | undefined {
    return this.#of(kind).get(`${namespace}/${name}`) as T | undefined;
  }

  list<T extends KubeObject>(kind: KindOf<T>, namespace?: string): T[] {
    const all = [...this.#of(kind).values()] as T[];
    return all.filter((one) => namespace === undefined || one.metadata.namespace === namespace);
  }

  async create<T extends KubeObject>(kind: KindOf<T>, object: T): Promise<Result<T>> {
    const { name = "", namespace = "" } = object.metadata;
    if (this.get(kind, namespace, name))
      return failure(alreadyExistsStatus(resourceOf(kind), name));
    return success(this.put(kind, object));
  }

  async mutate<T extends KubeObject>(
    kind: KindOf<T>,
    namespace: string,
    name: string,
    change: (draft: Draft<T>) => Status | undefined,
  ): Promise<Result<T>> {
    const old = this.get(kind, namespace, name);
    if (old === undefined) return failure(notFoundStatus(resourceOf(kind), name));
    const draft = structuredClone(old) as Draft<T>;
    const refusal = change(draft);
    return refusal === undefined ? success(this.put(kind, draft)) : failure(refusal);
  }

  async delete<T extends KubeObject>(
    kind: KindOf<T>,
    namespace: string,
    name: string,
  ): Promise<Result<T>> {
    const old = this.get(kind, namespace, name);
    if (old === undefined) return failure(notFoundStatus(resourceOf(kind), name));
    this.#of(kind).delete(`${namespace}/${name}`);
    this.#notify(kind, undefined, old);
    return success(old);
  }

  onChange<T extends KubeObject>(
    kind: KindOf<T>,
    listener: (next: T | undefined, old: T | undefined) => void,
    signal: AbortSignal,
  ): void {
    const listeners = this.#listeners.get(keyOf(kind)) ?? new Set();
    this.#listeners.set(keyOf(kind), listeners.add(listener as Listener));
    signal.addEventListener("abort", () => listeners.delete(listener as Listener), { once: true });
  }

  #of(kind: Kind): Map<string, KubeObject> {
    const objects = this.#objects.get(keyOf(kind)) ?? new Map<string, KubeObject>();
    this.#objects.set(keyOf(kind), objects);
    return objects;
  }

  #notify(kind: Kind, next: KubeObject | undefined, old: KubeObject | undefined): void {
    for (const listener of this.#listeners.get(keyOf(kind)) ?? []) listener(next, old);
  }
}

function keyOf({ group, names }: Kind): string {
  return `${group}/${names.plural}`;
}

function resourceOf({ group, names }: Kind): { group: string; resource: string } {
  return { group, resource: names.plural };
}

function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) freeze(inner);
  }
  return value;
}
