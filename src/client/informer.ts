/**
 * A cache that a reflector keeps equal to what the server has of one kind.
 *
 * Promises:
 * 1. The cache misses nothing, by the promises of the reflector; objects that were deleted while the
 *    connection was broken are reported as deleted.
 * 2. `synced` resolves once the cache has shown a whole listing.
 * 3. With `resyncMs`, listeners get every object again at that interval (next and old are the same).
 */
import type { KubeObject } from "#api/kind.ts";
import type { Timer } from "#lib/time/clock.ts";
import { Cache, type Change } from "./cache.ts";
import { Reflector, type ReflectorOptions } from "./reflector.ts";

export interface InformerOptions<T extends KubeObject> extends Omit<ReflectorOptions<T>, "store"> {
  readonly resyncMs?: number;
  /**
   * Reduces each object to what the user of the cache needs, to save memory. Name, namespace,
   * resourceVersion and deletionTimestamp must stay; uid and the controlling owner, if they are asked for.
   */
  readonly transform?: (object: T) => T;
}

export class Informer<T extends KubeObject> {
  readonly cache = new Cache<T>();
  readonly #options: InformerOptions<T>;
  readonly #reflector: Reflector<T>;

  constructor(options: InformerOptions<T>) {
    const { cache } = this;
    const { transform = unchanged } = options;
    this.#options = options;
    this.#reflector = new Reflector({
      ...options,
      store: {
        put: (object) => cache.put(transform(object)),
        remove: (object) => cache.remove(object),
        retain: (current) => cache.retain(current),
      },
    });
  }

  get synced(): Promise<void> {
    return this.#reflector.synced;
  }

  get isSynced(): boolean {
    return this.#reflector.isSynced;
  }

  on(listener: (change: Change<T>) => void, signal?: AbortSignal): void {
    this.cache.on(listener, signal);
  }

  /** Lives until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    using _resync = this.#startResync(signal);
    await this.#reflector.run(signal);
  }

  #startResync(signal: AbortSignal): Disposable {
    const { clock, resyncMs } = this.#options;
    let timer: Timer | undefined;
    const again = (): void => {
      if (resyncMs === undefined || signal.aborted) return;
      timer = clock.schedule(resyncMs, () => {
        this.cache.repeat();
        again();
      });
    };
    again();
    return { [Symbol.dispose]: () => timer?.cancel() };
  }
}

function unchanged<T>(object: T): T {
  return object;
}
