/** The server's own view of its objects: reads from the caches, writes by compare-and-swap. */
import { cloneJson } from "#api/codec/clone-json.ts";
import type { Status } from "#api/generated/meta.v1.ts";
import type { Draft, Kind, KindOf, KubeObject } from "#api/kind.ts";
import {
  alreadyExistsStatus,
  failure,
  notFoundStatus,
  type Result,
  success,
} from "#api/meta/status.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { ResourceStats } from "../flow/work-estimate.ts";
import type { KindRegistry } from "../registry/kind-registry.ts";
import { trackOwnCreate, trackOwnUpdate } from "../write/managed-fields.ts";
import { fillSystemFields } from "../write/object-metadata.ts";
import { finishObject } from "../write/write-rules.ts";
import type { ObjectStore, WriteOutcome } from "./object-store.ts";
import type { Objects } from "./objects.ts";
import { keyOf, type StoredResource } from "./resources.ts";
import type { Revision } from "./revision.ts";

export interface ServerObjectsOptions {
  readonly store: ObjectStore;
  readonly resources: KindRegistry;
  readonly clock: Clock;
  readonly random: Random;
}

/** Where an object is stored. */
interface Place {
  readonly stored: StoredResource;
  readonly key: string;
}

/** What is written is of a kind that is stored as it is. */
export class ServerObjects implements Objects {
  readonly #options: ServerObjectsOptions;

  constructor(options: ServerObjectsOptions) {
    this.#options = options;
  }

  statsOf(group: string, resource: string): ResourceStats | undefined {
    const found = this.#options.resources.resource(group, resource);
    if (found === undefined || !found.ownsStorage) return undefined;
    const cache = this.#options.store.cacheOf(found.stored);
    const { size: count, bytes, generalSubscriptions: watchers } = cache;
    return { count, bytes, watchers };
  }

  get<T extends KubeObject>(kind: KindOf<T>, namespace: string, name: string): T | undefined {
    const { stored, key } = this.#place(kind, namespace, name);
    const revision = this.#options.store.cacheOf(stored).get(key);
    return revision && valueAs(revision, kind);
  }

  list<T extends KubeObject>(kind: KindOf<T>, namespace = ""): Iterable<T> {
    const { resources, store } = this.#options;
    const stored = resources.storedOf(kind);
    const cache = store.cacheOf(stored);
    // Every write asks for quotas, limits and the like, and most clusters have none.
    if (cache.size === 0) return [];
    const prefix = namespace === "" ? stored.prefix : keyOf(stored, namespace, "");
    return valuesOf(cache.list(prefix), kind);
  }

  async create<T extends KubeObject>(kind: KindOf<T>, object: T): Promise<Result<T>> {
    const { store, clock, random } = this.#options;
    const { name = "", namespace = "" } = object.metadata;
    const { stored, key } = this.#place(kind, namespace, name);
    const draft = { ...object, metadata: { ...object.metadata } } as Draft<KubeObject>;
    fillSystemFields(draft.metadata, clock.nowMs(), random);
    trackOwnCreate(kind, draft, clock.nowMs());
    const finished = finishObject(stored.kind, draft);
    if (!finished.ok) return finished;
    const wrote = await store.create(stored, key, finished.value);
    if (!wrote.ok) return wrote;
    if (wrote.value.outcome === "written") return success(wrote.value.revision.value as T);
    return failure(alreadyExistsStatus(subjectOf(kind), name));
  }

  mutate<T extends KubeObject>(
    kind: KindOf<T>,
    namespace: string,
    name: string,
    change: (draft: Draft<T>) => Status | undefined,
    managed?: "status",
  ): Promise<Result<T>> {
    return this.#untilWritten(kind, namespace, name, async ({ stored, key }, current) => {
      const draft = cloneJson(current.value) as Draft<T>;
      const refusal = change(draft);
      if (refusal !== undefined) return failure(refusal);
      if (managed !== undefined) {
        const written = draft as Draft<KubeObject>;
        trackOwnUpdate(kind, current.value, written, managed, this.#options.clock.nowMs());
      }
      const finished = finishObject(stored.kind, draft as KubeObject);
      if (!finished.ok) return finished;
      return await this.#options.store.replace(stored, key, current, finished.value);
    });
  }

  delete<T extends KubeObject>(
    kind: KindOf<T>,
    namespace: string,
    name: string,
  ): Promise<Result<T>> {
    return this.#untilWritten(kind, namespace, name, ({ stored, key }, current) =>
      this.#options.store.remove(stored, key, current),
    );
  }

  onChange<T extends KubeObject>(
    kind: KindOf<T>,
    listener: (next: T | undefined, old: T | undefined) => void,
    signal: AbortSignal,
  ): void {
    const { store, resources } = this.#options;
    const seen = (revision: Revision | undefined): T | undefined =>
      revision && valueAs(revision, kind);
    store
      .cacheOf(resources.storedOf(kind))
      .observe((next, old) => listener(seen(next), seen(old)), signal);
  }

  #place(kind: Kind, namespace: string, name: string): Place {
    const stored = this.#options.resources.storedOf(kind);
    return { stored, key: keyOf(stored, namespace, name) };
  }

  /** Retries the decision on the current object as long as another writer was faster. */
  async #untilWritten<T extends KubeObject>(
    kind: KindOf<T>,
    namespace: string,
    name: string,
    write: (place: Place, current: Revision) => Promise<Result<WriteOutcome>>,
  ): Promise<Result<T>> {
    const place = this.#place(kind, namespace, name);
    const read = await this.#options.store.read(place.stored, place.key);
    if (!read.ok) return read;
    let current = read.value;
    for (;;) {
      if (current === undefined) return failure(notFoundStatus(subjectOf(kind), name));
      const wrote = await write(place, current);
      if (!wrote.ok) return wrote;
      if (wrote.value.outcome === "written") return success(wrote.value.revision.value as T);
      current = wrote.value.current;
    }
  }
}

function subjectOf({ group, names }: Kind): { group: string; resource: string } {
  return { group, resource: names.plural };
}

/** Revisions are kept by kind, so what one holds is an object of it. */
function valueAs<T extends KubeObject>(revision: Revision, kind: KindOf<T>): T {
  return revision.as(kind).value as T;
}

function* valuesOf<T extends KubeObject>(
  revisions: Iterable<Revision>,
  kind: KindOf<T>,
): Iterable<T> {
  for (const revision of revisions) yield valueAs(revision, kind);
}
