/**
 * Informers that several users share.
 *
 * Promises:
 * 1. There is one watch for each kind and scope (namespace, label and field selector), however many
 *    users hold it.
 * 2. The watch starts with the first holder. Listeners and indexes that are added in the same turn
 *    as `hold` see every object.
 * 3. The watch stops when the signal of its last holder aborts. The informer and its cache are then
 *    forgotten: a later holder gets a new one.
 */
import type { KubeObject } from "#api/kind.ts";
import { onAbort, signalForMany } from "#lib/async/aborted.ts";
import { deferred } from "#lib/async/deferred.ts";
import type { Client, Typed } from "./client.ts";
import { Informer, type InformerOptions } from "./informer.ts";
import type { ResourceRef } from "./transport.ts";

/** Which objects of a kind an informer follows; all of them unless it says otherwise. */
export interface InformerScope {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export type SharedInformersOptions = Pick<
  InformerOptions<KubeObject>,
  "clock" | "random" | "logger" | "slice" | "transform"
> & { readonly client: Client };

export interface InformerHold<T extends KubeObject> {
  readonly informer: Informer<T>;
  /** Resolves after the holder's signal has aborted and, for the last holder, the watch has ended. */
  readonly released: Promise<void>;
}

interface Shared {
  readonly informer: Informer<KubeObject>;
  readonly life: AbortController;
  holders: number;
  running: Promise<void> | undefined;
}

export class SharedInformers {
  readonly #options: SharedInformersOptions;
  readonly #shared = new Map<string, Shared>();

  constructor(options: SharedInformersOptions) {
    this.#options = options;
  }

  /** The informer of a kind and scope. It is created here and started by its first holder. */
  informer<T extends KubeObject>(kind: Typed<T>, scope: InformerScope = {}): Informer<T> {
    return informerOf(kind, this.#entry(kind, scope).informer);
  }

  /** The informer if it exists already. */
  find<T extends KubeObject>(kind: Typed<T>, scope: InformerScope = {}): Informer<T> | undefined {
    const shared = this.#shared.get(idOf(kind, scope));
    return shared === undefined ? undefined : informerOf(kind, shared.informer);
  }

  /** Keeps the informer running until the signal aborts. */
  hold<T extends KubeObject>(
    kind: Typed<T>,
    scope: InformerScope,
    signal: AbortSignal,
  ): InformerHold<T> {
    const shared = this.#entry(kind, scope);
    shared.holders += 1;
    shared.running ??= shared.informer.run(signalForMany(shared.life.signal));
    const released = deferred<void>();
    onAbort(signal, () => void this.#release(idOf(kind, scope), shared).then(released.resolve));
    return { informer: informerOf(kind, shared.informer), released: released.promise };
  }

  async #release(id: string, shared: Shared): Promise<void> {
    shared.holders -= 1;
    if (shared.holders > 0) return;
    if (this.#shared.get(id) === shared) this.#shared.delete(id);
    shared.life.abort();
    await shared.running;
  }

  #entry(kind: ResourceRef, scope: InformerScope): Shared {
    const id = idOf(kind, scope);
    let shared = this.#shared.get(id);
    if (shared === undefined) {
      const informer = new Informer<KubeObject>({ ...this.#options, kind, ...scope });
      shared = { informer, life: new AbortController(), holders: 0, running: undefined };
      this.#shared.set(id, shared);
    }
    return shared;
  }
}

function idOf({ apiVersion, names }: ResourceRef, scope: InformerScope): string {
  const { namespace = "", labelSelector = "", fieldSelector = "" } = scope;
  return [apiVersion, names.plural, namespace, labelSelector, fieldSelector].join("\n");
}

/**
 * The informer of a kind, which was found by it, with the type of its objects. The one cast of the registry:
 * an informer asks for one kind, so its cache holds what that kind's objects are.
 */
export function informerOf<T extends KubeObject>(
  _kind: Typed<T>,
  informer: Informer<KubeObject>,
): Informer<T> {
  return informer as unknown as Informer<T>;
}
