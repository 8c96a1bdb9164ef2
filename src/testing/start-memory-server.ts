/** The real API server on a memory store, for clusters inside a test. */
import { createSecurity } from "#apiserver/request/security.ts";
import { type ApiServer, startApiServer } from "#apiserver/server.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Store } from "#store/contract.ts";
import type { NodeAccess } from "./node-access.ts";
import { bootstrap, defaultAdmission } from "./secured.ts";
import { testSecurityOptions, testServerOptions } from "./server-options.ts";

export interface MemoryServerOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  /** RBAC and Node authorization, the default admission plug-ins, what a fresh cluster has. */
  readonly secured: boolean;
  /** Upstream's minute unless given. */
  readonly bookmarkEveryMs?: number;
  /** The way to simulated nodes; there is none unless given. */
  readonly nodeAccess?: NodeAccess;
}

/** Lives until the signal aborts. */
export async function startMemoryServer(
  { store, clock, random, secured, bookmarkEveryMs, nodeAccess }: MemoryServerOptions,
  signal: AbortSignal,
): Promise<ApiServer> {
  const server = await startApiServer(
    {
      ...testServerOptions(nodeAccess),
      store,
      clock,
      random,
      ...(bookmarkEveryMs === undefined ? {} : { bookmarkEveryMs }),
      serviceRanges: ["10.96.0.0/12"],
      nodePorts: { first: 30_000, last: 32_767 },
      security: (objects, until) =>
        createSecurity(
          {
            ...testSecurityOptions("https://k8ts.test"),
            modes: secured ? ["Node", "RBAC"] : ["AlwaysAllow"],
            clock,
            random,
          },
          objects,
          until,
        ),
      admission: (parts, until) =>
        secured ? defaultAdmission({ ...parts, clock, random }, until) : [],
    },
    signal,
  );
  if (secured) await bootstrap({ server, store, clock, random, signal });
  return server;
}
