/** Where the server gets its objects from: informers that others share, or watches of its own. */
import type { KubeObject } from "#api/kind.ts";
import type { Client, Typed } from "#client/client.ts";
import { Reflector, type ReflectorStore } from "#client/reflector.ts";
import type { SharedInformers } from "#client/shared-informers.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";

export interface ObjectSource {
  /** Keeps the store equal to all objects of a kind until the signal aborts. */
  follow<T extends KubeObject>(
    kind: Typed<T>,
    store: ReflectorStore<T>,
    signal: AbortSignal,
  ): Followed;
}

export interface Followed {
  /** Resolves when the store was given everything that there was at the start. */
  readonly synced: Promise<void>;
  /** Resolves after the signal aborted, when the watch has ended. */
  readonly done: Promise<void>;
}

/** In one process with others whole objects are in memory anyway. */
export function sharedSource(informers: SharedInformers): ObjectSource {
  return {
    follow: (kind, store, signal) => {
      const { informer, released } = informers.hold(kind, {}, signal);
      informer.on(({ next, old }) => {
        if (next !== undefined) store.put(next);
        else if (old !== undefined) store.remove(old);
      }, signal);
      // Another user of the same informer may have started it before.
      for (const object of informer.cache.list()) store.put(object);
      return { synced: informer.synced, done: released };
    },
  };
}

/** A server that has its watches for itself keeps no objects: they would take more memory than the zone. */
export function ownSource({ client, clock, random, logger }: SourceOptions): ObjectSource {
  return {
    follow: (kind, store, signal) => {
      const reflector = new Reflector({ client, clock, random, logger, kind, store });
      return { synced: reflector.synced, done: reflector.run(signal) };
    },
  };
}

interface SourceOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}
