/**
 * Runs an API server from its flags: opens the data directory, the store, encryption, keys and audit
 * log, starts the server on them, serves HTTPS (in this thread or in a worker thread), and creates
 * what a fresh cluster has. Closing goes the other way: readiness first, the store last.
 */
import { bootstrapCluster } from "#apiserver/cluster/bootstrap-cluster.ts";
import { Announcement } from "#apiserver/cluster/kubernetes-service.ts";
import { createLoopback } from "#apiserver/cluster/loopback.ts";
import { publishConfig } from "#apiserver/cluster/published-config.ts";
import { type HttpServer, startHttpServer, type TlsOptions } from "#apiserver/http/http-server.ts";
import { withResponseHeaders } from "#apiserver/http/response-headers.ts";
import { expire, serve } from "#apiserver/http/serve.ts";
import { serveUpgrade } from "#apiserver/http/serve-upgrade.ts";
import { type HttpThread, startHttpThread } from "#apiserver/http-thread/http-thread.ts";
import { type ApiServer, startApiServer } from "#apiserver/server.ts";
import { Metrics } from "#lib/metrics.ts";
import { openAuditLog } from "./audit-log.ts";
import { claimSharedStore } from "./claim-shared-store.ts";
import { makeDataDir } from "./data-dir.ts";
import { egressDialers } from "./egress.ts";
import { openEncryption } from "./encryption.ts";
import type { ApiServerFlags } from "./flags/flags.ts";
import { responseHeaderRules } from "./flags/response-header-flags.ts";
import { tlsLimitsOf } from "./flags/tls-flags.ts";
import { type Keys, openKeys } from "./keys.ts";
import { isShared, openOverrides, openStore } from "./open-store.ts";
import { ownAddress } from "./own-address.ts";
import { apiServerOptions, identityOf, type Parts, type Surroundings } from "./server-options.ts";
import { openNodeTunnels } from "./ssh-tunnels.ts";
import { openTracing } from "./tracing.ts";
import { warnOfUnverifiedConnections } from "./unverified-connections.ts";

export interface RunningApiServer extends AsyncDisposable {
  readonly api: ApiServer;
  readonly port: number;
  /** Where the `kubernetes` Service leads to. */
  readonly advertiseAddress: string;
  readonly keys: Keys;
  /** Resolves when everything that a fresh cluster has is there. */
  readonly bootstrapped: Promise<void>;
  /** Ends connections, then the store; running requests have up to `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** Resolves when requests are answered. An abort gives up waiting for the store, nothing else. */
export async function runApiServer(
  flags: ApiServerFlags,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<RunningApiServer> {
  const httpThread = surroundings.httpThread ? startHttpThread() : undefined; // starts while the rest is made ready
  try {
    return await runOn(httpThread, flags, surroundings, signal);
  } catch (error) {
    await httpThread?.[Symbol.asyncDispose]();
    throw error;
  }
}

async function runOn(
  httpThread: HttpThread | undefined,
  flags: ApiServerFlags,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<RunningApiServer> {
  const { clock, logger } = surroundings;
  if (flags.withoutEffect.length > 0) {
    logger.warn("flags without effect", { flags: flags.withoutEffect });
  }
  warnOfUnverifiedConnections(flags, logger);
  const egress = egressDialers(flags.egressSelectorConfigFile);
  makeDataDir(flags.dataDir);
  const advertiseAddress = flags.advertiseAddress ?? ownAddress(flags.bindAddress);
  const identity = identityOf(flags, surroundings.hostname, advertiseAddress);
  const tracing = openTracing(flags, { ...surroundings, identity });
  const tracer = tracing?.tracer;
  const inner = surroundings.store ?? (await openStore(flags, { ...surroundings, tracer }, signal));
  const life = new AbortController();
  const metrics = surroundings.metrics ?? new Metrics();
  const around = { ...surroundings, metrics, identity, tracer };
  const encryption = await openEncryption(flags, inner, around, life.signal).catch(
    async (error: unknown) => {
      if (surroundings.store === undefined) await inner[Symbol.asyncDispose]();
      throw error;
    },
  );
  const store = encryption?.store ?? inner;
  const overrides = await openOverrides(flags, { ...surroundings, tracer }, signal);
  const keys = openKeys(flags, surroundings, advertiseAddress);
  const { clientCaPem } = keys.authorities();
  if (isShared(flags) && flags.clientCaFile === undefined && clientCaPem !== undefined) {
    await claimSharedStore(store, clientCaPem, flags);
  }
  const audit = openAuditLog(flags, surroundings);
  const opened = { store, keys, audit, metrics, encryption, overrides, tracing };
  const tunnels = await openNodeTunnels(flags, { ...surroundings, metrics });
  const connect = tunnels?.connect ?? egress.cluster;
  const healthChecks = tunnels?.checks ?? [];
  const parts: Parts = {
    ...{ flags, surroundings, advertiseAddress, connect, healthChecks },
    ...opened,
  };
  const api = await startApiServer(apiServerOptions(parts), life.signal);
  const tunnelled = tunnels?.run(api.handle, life.signal);
  const server = await listen(httpThread, flags, surroundings, keys, api);
  keys.listeningOn(server.port);
  const announcement = new Announcement();
  const bootstrapped = bootstrap(parts, api, server.port, announcement, life.signal);
  void keys.run(life.signal);

  const close = async (graceMs: number): Promise<void> => {
    if (flags.shutdownDelaySeconds > 0) {
      api.sayNotReady();
      server.drain();
      await clock.sleep(flags.shutdownDelaySeconds * 1000);
    }
    await announcement.withdraw();
    api.shutDown();
    await server.close(graceMs);
    life.abort(new Error("the API server is closing"));
    await api.done.catch(() => undefined);
    await tunnelled;
    await audit?.close();
    await tracing?.close();
    if (surroundings.store === undefined) await store[Symbol.asyncDispose]();
    for (const { store: other } of overrides) await other[Symbol.asyncDispose]();
  };
  return {
    api,
    port: server.port,
    advertiseAddress,
    keys,
    bootstrapped,
    close,
    [Symbol.asyncDispose]: () => close(0),
  };
}

/** Resolves when everything that a fresh cluster has is there. */
function bootstrap(
  { flags, surroundings, advertiseAddress, store, keys }: Parts,
  api: ApiServer,
  port: number,
  announcement: Announcement,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, logger, hostname } = surroundings;
  const bootstrapped = bootstrapCluster(
    {
      objects: api.objects,
      loopback: createLoopback(api.handle, signal),
      discovery: api.discovery,
      store,
      storeIsShared: isShared(flags),
      clock,
      random,
      logger,
      hostname,
      announcement,
      advertiseAddress,
      port,
      serviceRanges: flags.serviceClusterIpRange,
      features: flags.features,
      ports: api.ports,
      published: () => keys.published(),
      finished: (step) => api.finished(step),
    },
    signal,
  );
  keys.onRenewal(() => {
    const config = { ...keys.published(), nowMs: clock.nowMs() };
    void bootstrapped.then(() => publishConfig(createLoopback(api.handle, signal), config));
  });
  return bootstrapped;
}

async function listen(
  httpThread: HttpThread | undefined,
  flags: ApiServerFlags,
  { clock, random, logger }: Surroundings,
  keys: Keys,
  api: ApiServer,
): Promise<HttpServer> {
  const tls = (): TlsOptions => ({
    context: { ...keys.tlsContext(), ...tlsLimitsOf(flags) },
    authorities: keys.authorities(),
    named: keys.namedCertificates(),
  });
  const start = httpThread === undefined ? startHttpServer : httpThread.listen;
  const server = await start({
    tls: tls(),
    host: flags.bindAddress,
    port: flags.securePort,
    clock,
    logger,
    timeoutMs: flags.requestTimeoutSeconds * 1000,
    http2: !flags.disableHttp2Serving,
    streamsMax: flags.http2MaxStreamsPerConnection,
    expire: (request, reply) => expire(api, request, reply),
    handshakeFailed: () => api.handshakeFailed(),
    goawayChance: flags.goawayChance,
    random,
    handle: withResponseHeaders(responseHeaderRules(flags), (request, reply) =>
      serve(api, request, reply),
    ),
    upgrade: (request, peer, socket, head) => serveUpgrade(api, request, peer, socket, head),
  });
  keys.onRenewal(() => server.renew(tls()));
  return server;
}
