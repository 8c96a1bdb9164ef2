/** Where the server gets its objects from: informers that others share, or smaller ones of its own. */
import type { KubeObject } from "#api/kind.ts";
import type { Client, Typed } from "#client/client.ts";
import { Informer } from "#client/informer.ts";
import type { InformerHold, SharedInformers } from "#client/shared-informers.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";

export interface ObjectSource {
  /** Follows all objects of a kind until the signal aborts. `trim` keeps what is needed of one. */
  follow<T extends KubeObject>(
    kind: Typed<T>,
    trim: (object: T) => T,
    signal: AbortSignal,
  ): InformerHold<T>;
}

/** In one process with others whole objects are in memory anyway. */
export function sharedSource(informers: SharedInformers): ObjectSource {
  return { follow: (kind, _trim, signal) => informers.hold(kind, {}, signal) };
}

export function ownSource(shared: {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}): ObjectSource {
  return {
    follow: <T extends KubeObject>(
      kind: Typed<T>,
      transform: (object: T) => T,
      signal: AbortSignal,
    ) => {
      const { client, clock, random, logger } = shared;
      const informer = new Informer<T>({ client, clock, random, logger, kind, transform });
      return { informer, released: informer.run(signal) };
    },
  };
}
