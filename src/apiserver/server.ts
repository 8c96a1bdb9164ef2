/** An API server: its parts put together, and its life. */
import type { Kind } from "#api/kind.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Store } from "#store/contract.ts";
import type { AdmissionPlugin } from "./admission/plugin.ts";
import { createAdmission } from "./admission-gate.ts";
import { createHandler, type Handler, type PathHandler } from "./handler.ts";
import { ObjectStore } from "./object-store.ts";
import type { Objects } from "./objects.ts";
import { Resources } from "./resources.ts";
import type { RequestSecurity } from "./security.ts";
import { createServerObjects } from "./server-objects.ts";
import { StorageCodec } from "./storage-codec.ts";

export interface ApiServerOptions {
  readonly kinds: readonly Kind[];
  readonly store: Store;
  /** The store is in this process. */
  readonly storeIsLocal: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly allowPrivileged: boolean;
  readonly eventTtlSeconds: number;
  /** Made with the server's own view of its objects. */
  security(objects: Objects, signal: AbortSignal): RequestSecurity;
  admission(objects: Objects, security: RequestSecurity): readonly AdmissionPlugin[];
}

export interface ApiServer {
  /** For callers in the same process; the HTTP server calls it too. */
  readonly handle: Handler;
  readonly objects: Objects;
  readonly store: ObjectStore;
  readonly resources: Resources;
  /** Ends when the signal aborts. */
  readonly done: Promise<void>;
}

/** Resolves when the caches are loaded: from then on requests can be answered. */
export async function startApiServer(
  options: ApiServerOptions,
  signal: AbortSignal,
): Promise<ApiServer> {
  const { kinds, clock, random, logger } = options;
  const resources = new Resources(kinds);
  const store = new ObjectStore({
    store: options.store,
    local: options.storeIsLocal,
    resources,
    codec: new StorageCodec(resources),
    clock,
    logger,
    eventTtlSeconds: options.eventTtlSeconds,
  });
  await store.cache.load();
  const done = store.cache.run(signal);
  const objects = createServerObjects(store, resources, clock, random);
  const security = options.security(objects, signal);
  const parts = {
    resources,
    objects: store,
    admission: createAdmission(options.admission(objects, security), objects, clock),
    clock,
    random,
    logger,
    allowPrivileged: options.allowPrivileged,
  };
  const paths: PathHandler[] = [];
  const handle = createHandler({ parts, security, paths });
  return { handle, objects, store, resources, done };
}
