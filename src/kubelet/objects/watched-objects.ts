/**
 * ConfigMaps and Secrets that pods of this node use. Each is watched on its own, because a node may
 * read only those; the watch lives as long as a pod refers to the object.
 *
 * Promises:
 * 1. `get` answers with the object as the server has it, undefined if it has none, and fails when
 *    the server cannot be asked within READ_TIMEOUT_MS.
 * 2. `onChange` is called with the uids of the pods that use an object which changed.
 */
import type { ConfigMap, Secret } from "#api/generated/core.v1.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import type { Client } from "#client/client.ts";
import { Informer } from "#client/informer.ts";
import { onAbort } from "#lib/async/aborted.ts";
import { withTimeout } from "#lib/async/sleep.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";

const READ_TIMEOUT_MS = 10_000;

export type ObjectSort = "ConfigMap" | "Secret";

export interface ObjectRef {
  readonly sort: ObjectSort;
  readonly namespace: string;
  readonly name: string;
}

export interface WatchedObjectsOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  onChange(uids: Iterable<string>): void;
}

interface Watched {
  readonly informer: Informer<ConfigMap | Secret>;
  readonly stop: AbortController;
  readonly users: Set<string>;
}

export class WatchedObjects {
  readonly #options: WatchedObjectsOptions;
  readonly #watched = new Map<string, Watched>();
  readonly #byUser = new Map<string, Set<string>>();
  readonly #signal: AbortSignal;

  constructor(options: WatchedObjectsOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    onAbort(signal, () => {
      for (const { stop } of this.#watched.values()) stop.abort();
    });
  }

  /** From now on the pod uses these and no others. */
  retain(uid: string, refs: readonly ObjectRef[]): void {
    const next = new Set(refs.map(idOf));
    for (const ref of refs) this.#watch(ref).users.add(uid);
    for (const id of this.#byUser.get(uid) ?? []) if (!next.has(id)) this.#drop(id, uid);
    if (next.size > 0) this.#byUser.set(uid, next);
    else this.#byUser.delete(uid);
  }

  release(uid: string): void {
    this.retain(uid, []);
  }

  async configMap(namespace: string, name: string): Promise<ConfigMap | undefined> {
    return this.#get({ sort: "ConfigMap", namespace, name });
  }

  async secret(namespace: string, name: string): Promise<Secret | undefined> {
    return this.#get({ sort: "Secret", namespace, name });
  }

  async #get(ref: ObjectRef): Promise<ConfigMap | Secret | undefined> {
    const { informer } = this.#watch(ref);
    if (!informer.isSynced) {
      const what = `${ref.sort} ${ref.namespace}/${ref.name}`;
      await withTimeout(this.#options.clock, READ_TIMEOUT_MS, () => informer.synced).catch(() => {
        throw new Error(`failed to sync ${what} cache: timed out waiting for the condition`);
      });
    }
    return informer.cache.get(ref.namespace, ref.name);
  }

  #watch(ref: ObjectRef): Watched {
    const id = idOf(ref);
    const known = this.#watched.get(id);
    if (known !== undefined) return known;
    const { client, clock, random, logger } = this.#options;
    const informer = new Informer<ConfigMap | Secret>({
      ...{ client, clock, random, logger, namespace: ref.namespace },
      kind: ref.sort === "ConfigMap" ? configMapKind : secretKind,
      fieldSelector: `metadata.name=${ref.name}`,
    });
    const stop = new AbortController();
    const watched = { informer, stop, users: new Set<string>() };
    this.#watched.set(id, watched);
    let isFirst = true;
    void informer.synced.then(() => {
      isFirst = false;
    });
    informer.on(() => {
      if (!isFirst) this.#options.onChange(watched.users);
    }, stop.signal);
    if (this.#signal.aborted) stop.abort();
    void informer.run(stop.signal);
    return watched;
  }

  #drop(id: string, uid: string): void {
    const watched = this.#watched.get(id);
    if (watched === undefined) return;
    watched.users.delete(uid);
    if (watched.users.size > 0) return;
    watched.stop.abort();
    this.#watched.delete(id);
  }
}

function idOf({ sort, namespace, name }: ObjectRef): string {
  return `${sort}/${namespace}/${name}`;
}
