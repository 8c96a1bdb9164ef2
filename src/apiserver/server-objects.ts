/** The server's own view of its objects: reads from the caches, writes by compare-and-swap. */
import type { Status } from "#api/generated/meta.v1.ts";
import type { Draft, Kind, KindOf, KubeObject } from "#api/kind.ts";
import {
  alreadyExistsStatus,
  failure,
  notFoundStatus,
  type Result,
  success,
} from "#api/meta/status.ts";
import type { Clock } from "#lib/clock.ts";
import type { Random } from "#lib/random.ts";
import { trackOwnCreate } from "./managed-fields.ts";
import { fillSystemFields } from "./object-metadata.ts";
import type { ObjectStore } from "./object-store.ts";
import type { Objects } from "./objects.ts";
import { keyOf, type Resources } from "./resources.ts";
import type { Revision } from "./revision.ts";
import { finishObject } from "./write-rules.ts";

export function createServerObjects(
  store: ObjectStore,
  resources: Resources,
  clock: Clock,
  random: Random,
): Objects {
  const place = (kind: Kind, namespace: string, name: string) => {
    const stored = resources.storedOf(kind);
    return { stored, cache: store.cacheOf(stored), key: keyOf(stored, namespace, name) };
  };
  const missing = (kind: Kind, name: string): { ok: false; status: Status } =>
    failure(notFoundStatus({ group: kind.group, resource: kind.names.plural }, name));

  const byName = new Map([...resources.stored()].map((one) => [`${one.group}/${one.plural}`, one]));

  return {
    statsOf(group, resource) {
      const stored = byName.get(`${group}/${resource}`);
      if (stored === undefined) return undefined;
      const { size: count, bytes, generalSubscriptions: watchers } = store.cacheOf(stored);
      return { count, bytes, watchers };
    },

    get<T extends KubeObject>(kind: KindOf<T>, namespace: string, name: string) {
      const { cache, key } = place(kind, namespace, name);
      return cache.get(key)?.as(kind).value as T | undefined;
    },

    list<T extends KubeObject>(kind: KindOf<T>, namespace = ""): Iterable<T> {
      const stored = resources.storedOf(kind);
      const cache = store.cacheOf(stored);
      // Every write asks for quotas, limits and the like, and most clusters have none.
      if (cache.size === 0) return [];
      const prefix = namespace === "" ? stored.prefix : keyOf(stored, namespace, "");
      return valuesOf<T>(cache.under(prefix), kind);
    },

    async create<T extends KubeObject>(kind: KindOf<T>, object: T): Promise<Result<T>> {
      const { name = "", namespace = "" } = object.metadata;
      const { stored, key } = place(kind, namespace, name);
      const draft = { ...object, metadata: { ...object.metadata } } as Draft<KubeObject>;
      fillSystemFields(draft.metadata, clock.nowMs(), random);
      trackOwnCreate(kind, draft, clock.nowMs());
      const finished = finishObject(stored.kind, draft);
      if (!finished.ok) return finished;
      const wrote = await store.create(stored, key, finished.value);
      if (!wrote.ok) return wrote;
      if (wrote.value.outcome === "written") return success(wrote.value.revision.value as T);
      const subject = { group: kind.group, resource: kind.names.plural };
      return failure(alreadyExistsStatus(subject, name));
    },

    async mutate<T extends KubeObject>(
      kind: KindOf<T>,
      namespace: string,
      name: string,
      change: (draft: Draft<T>) => Status | undefined,
    ): Promise<Result<T>> {
      const { stored, key } = place(kind, namespace, name);
      const read = await store.read(stored, key);
      if (!read.ok) return read;
      let current = read.value;
      for (;;) {
        if (current === undefined) return missing(kind, name);
        const draft = structuredClone(current.value) as Draft<T>;
        const refusal = change(draft);
        if (refusal !== undefined) return failure(refusal);
        const finished = finishObject(stored.kind, draft as KubeObject);
        if (!finished.ok) return finished;
        const wrote = await store.replace(stored, key, current, finished.value);
        if (!wrote.ok) return wrote;
        if (wrote.value.outcome === "written") return success(wrote.value.revision.value as T);
        current = wrote.value.current;
      }
    },

    async delete<T extends KubeObject>(kind: KindOf<T>, namespace: string, name: string) {
      const { stored, key } = place(kind, namespace, name);
      const read = await store.read(stored, key);
      if (!read.ok) return read;
      let current = read.value;
      for (;;) {
        if (current === undefined) return missing(kind, name);
        const removed = await store.remove(stored, key, current);
        if (!removed.ok) return removed;
        if (removed.value.outcome === "written") return success(removed.value.revision.value as T);
        current = removed.value.current;
      }
    },

    onChange<T extends KubeObject>(
      kind: KindOf<T>,
      listener: (next: T | undefined, old: T | undefined) => void,
      signal: AbortSignal,
    ): void {
      const cache = store.cacheOf(resources.storedOf(kind));
      const seen = (revision: Revision | undefined): T | undefined =>
        revision?.as(kind).value as T | undefined;
      cache.observe((next, old) => listener(seen(next), seen(old)), signal);
    },
  };
}

function* valuesOf<T extends KubeObject>(
  revisions: Iterable<Revision>,
  kind: KindOf<T>,
): Iterable<T> {
  for (const revision of revisions) yield revision.as(kind).value as T;
}
