/** The API server put together from its flags: store, keys, security, admission, HTTPS. */
import { statSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import type { Kind } from "#api/kind.ts";
import { builtInKinds } from "#api/kinds.ts";
import { bootstrapCluster } from "#apiserver/cluster/bootstrap-cluster.ts";
import { serverIdentity } from "#apiserver/cluster/identity-lease.ts";
import { createLoopback } from "#apiserver/cluster/loopback.ts";
import { publishConfig } from "#apiserver/cluster/published-config.ts";
import { isStable } from "#apiserver/discovery.ts";
import { type Edge, openEdge } from "#apiserver/edge/edge-server.ts";
import { type HttpServer, startHttpServer, type TlsOptions } from "#apiserver/http/http-server.ts";
import { createSecurity } from "#apiserver/security.ts";
import { expire, serve } from "#apiserver/serve.ts";
import { serveUpgrade } from "#apiserver/serve-upgrade.ts";
import { type ApiServer, startApiServer } from "#apiserver/server.ts";
import type { ComponentCheck } from "#apiserver/special/component-statuses.ts";
import { probeComponent } from "#apiserver/special/probe-component.ts";
import { START_HOOKS } from "#apiserver/start-hooks.ts";
import { addStorageSize } from "#apiserver/store-metrics.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import { type Store, StoreError } from "#store/contract.ts";
import { openEmbeddedStore } from "#store/embedded.ts";
import { admissionOf } from "./admission.ts";
import { openAuditLog } from "./audit-log.ts";
import { makeDataDir } from "./data-dir.ts";
import { type ApiServerFlags, flagTexts } from "./flags.ts";
import { followConfigs } from "./follow-config.ts";
import { type Keys, openKeys, readPem } from "./keys.ts";
import { readProse } from "./prose-file.ts";
import { securityOptionsOf } from "./security-options.ts";
import { tlsLimitsOf } from "./tls-flags.ts";

const ETCD_RETRY_MS = 1_000;
/** Where the other parts of a control plane tell how they are, unless they were told otherwise. */
const CONTROLLER_MANAGER_PORT = 10_257;
const SCHEDULER_PORT = 10_259;

export interface Surroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly hostname: string;
  /** Shared with whatever else runs in the process; its own unless given. */
  readonly metrics?: Metrics;
  /** Another store than the flags say: tests, and whoever opened it already. */
  readonly store?: Store;
  /** Parts of the control plane that run in this process, and are not to be asked over HTTPS. */
  readonly components?: Readonly<Record<string, ComponentCheck>>;
  /** Speaks HTTP in a thread of its own. */
  readonly edge?: boolean;
}

export interface RunningApiServer extends AsyncDisposable {
  readonly api: ApiServer;
  readonly port: number;
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
  const edge = surroundings.edge ? openEdge() : undefined; // starts while the rest is made ready
  try {
    return await runBehind(edge, flags, surroundings, signal);
  } catch (error) {
    await edge?.[Symbol.asyncDispose]();
    throw error;
  }
}

async function runBehind(
  edge: Edge | undefined,
  flags: ApiServerFlags,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<RunningApiServer> {
  const { clock, random, logger, hostname } = surroundings;
  if (flags.withoutEffect.length > 0) {
    logger.warn("flags without effect", { flags: flags.withoutEffect });
  }
  makeDataDir(flags.dataDir);
  const advertiseAddress = flags.advertiseAddress ?? ownAddress(flags.bindAddress);
  const shared = flags.etcdServers.length > 0;
  const store = surroundings.store ?? (await openStore(flags, surroundings, signal));
  const life = new AbortController();
  const ending = life.signal;
  const keys = openKeys(flags, surroundings, advertiseAddress);
  const audit = openAuditLog(flags, surroundings);
  const metrics = surroundings.metrics ?? new Metrics();
  if (surroundings.store === undefined && !shared) {
    const file = join(flags.dataDir, "store", "data.mdb");
    addStorageSize(metrics, "embedded-0", () => statSync(file).size);
  }
  const api = await startApiServer(
    {
      kinds: builtInKinds,
      isServed: (kind) => isServed(flags, kind),
      store,
      storeIsLocal: !shared,
      clock,
      random,
      logger,
      allowPrivileged: flags.allowPrivileged,
      watchTimeoutMinMs: flags.minRequestTimeout * 1000,
      eventTtlSeconds: flags.eventTtlSeconds,
      storedForm: storedForm(flags, shared),
      serviceRanges: flags.serviceClusterIpRange,
      nodePorts: flags.serviceNodePortRange,
      prose: readProse,
      metrics,
      kubelets: {
        addressTypes: flags.kubeletPreferredAddressTypes,
        tls: () => kubeletTls(flags, keys),
      },
      components: {
        "controller-manager": probeComponent(CONTROLLER_MANAGER_PORT),
        scheduler: probeComponent(SCHEDULER_PORT),
        ...surroundings.components,
      },
      hooks: START_HOOKS,
      flags: flagTexts(flags),
      externalAddress: `${flags.externalHostname ?? advertiseAddress}:${flags.securePort}`,
      security(objects, until) {
        const options = securityOptionsOf(flags, keys, audit?.options, clock, random, logger);
        const security = createSecurity(options, objects, until);
        const identity = serverIdentity(hostname, `${advertiseAddress}:${flags.securePort}`);
        followConfigs(flags, security, { clock, random, logger, metrics, identity }, until);
        return security;
      },
      admission: (_objects, security) => admissionOf(flags, security, clock, random),
    },
    ending,
  );
  const server = await listen(edge, flags, surroundings, keys, api);
  const bootstrapped = bootstrapCluster(
    {
      objects: api.objects,
      loopback: createLoopback(api.handle, ending),
      discovery: api.discovery,
      store,
      storeIsShared: shared,
      clock,
      random,
      logger,
      hostname,
      advertiseAddress,
      port: server.port,
      serviceRanges: flags.serviceClusterIpRange,
      ports: api.ports,
      published: () => keys.published(),
      finished: (step) => api.finished(step),
    },
    ending,
  );
  keys.onRenewal(() => {
    const config = { ...keys.published(), nowMs: clock.nowMs() };
    void bootstrapped.then(() => publishConfig(createLoopback(api.handle, ending), config));
  });
  void keys.run(ending);

  const close = async (graceMs: number): Promise<void> => {
    if (flags.shutdownDelaySeconds > 0) {
      api.sayNotReady();
      await clock.sleep(flags.shutdownDelaySeconds * 1000);
    }
    api.shutDown();
    await server.close(graceMs);
    life.abort(new Error("the API server is closing"));
    await api.done.catch(() => undefined);
    await audit?.close();
    if (surroundings.store === undefined) await store[Symbol.asyncDispose]();
  };
  return {
    api,
    port: server.port,
    keys,
    bootstrapped,
    close,
    [Symbol.asyncDispose]: () => close(0),
  };
}

async function listen(
  edge: Edge | undefined,
  flags: ApiServerFlags,
  { clock, logger }: Surroundings,
  keys: Keys,
  api: ApiServer,
): Promise<HttpServer> {
  const tls = (): TlsOptions => ({
    context: { ...keys.tlsContext(), ...tlsLimitsOf(flags) },
    authorities: keys.authorities(),
    named: keys.namedCertificates(),
  });
  const start = edge === undefined ? startHttpServer : edge.listen;
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
    handle: (request, reply) => serve(api, request, reply),
    upgrade: (request, peer, socket, head) => serveUpgrade(api, request, peer, socket, head),
  });
  keys.onRenewal(() => server.renew(tls()));
  return server;
}

/** Kubelets make certificates of their own unless they are told; then they are not checked either. */
function kubeletTls(flags: ApiServerFlags, keys: Keys) {
  const { certificatePem, keyPem } = keys.kubeletClient();
  const authority = flags.kubeletCertificateAuthority;
  return {
    cert: certificatePem,
    key: keyPem,
    verify: authority !== undefined,
    ...(authority === undefined ? {} : { ca: readPem(authority) }),
  };
}

/** An etcd that does not answer yet is waited for. */
async function openStore(
  flags: ApiServerFlags,
  { clock, logger }: Surroundings,
  signal: AbortSignal,
): Promise<Store> {
  if (flags.etcdServers.length === 0) {
    return await openEmbeddedStore({ directory: join(flags.dataDir, "store"), clock });
  }
  for (;;) {
    try {
      return await connectEtcd(flags, clock);
    } catch (error) {
      if (!(error instanceof StoreError) || error.problem.code !== "Unavailable") throw error;
      logger.warn("etcd does not answer", { servers: flags.etcdServers, why: error.message });
      await clock.sleep(ETCD_RETRY_MS, signal);
    }
  }
}

async function connectEtcd(flags: ApiServerFlags, clock: Clock): Promise<Store> {
  const { openEtcdStore } = await import("#store/etcd.ts");
  const pem = (file: string | undefined) => (file === undefined ? undefined : readPem(file));
  const [ca, cert, key] = [flags.etcdCafile, flags.etcdCertfile, flags.etcdKeyfile].map(pem);
  const tls = {
    ...(ca === undefined ? {} : { ca: Buffer.from(ca) }),
    ...(cert === undefined ? {} : { cert: Buffer.from(cert) }),
    ...(key === undefined ? {} : { key: Buffer.from(key) }),
  };
  const secure = flags.etcdServers.some((url) => url.startsWith("https:"));
  return await openEtcdStore({ endpoints: flags.etcdServers, clock, ...(secure ? { tls } : {}) });
}

/** JSON where only we read it; what upstream writes where it may read along. */
function storedForm({ storageMediaType }: ApiServerFlags, shared: boolean): "json" | "protobuf" {
  if (storageMediaType === "application/json") return "json";
  if (storageMediaType === "application/vnd.kubernetes.protobuf") return "protobuf";
  return shared ? "protobuf" : "json";
}

/** Stable versions, and what --runtime-config says. */
function isServed({ runtimeConfig }: ApiServerFlags, kind: Kind): boolean {
  const own =
    runtimeConfig[kind.apiVersion] ?? runtimeConfig[`${kind.apiVersion}/${kind.names.plural}`];
  if (own !== undefined) return own;
  const stage = isStable(kind) ? "ga" : kind.version.includes("beta") ? "beta" : "alpha";
  return runtimeConfig[`api/${stage}`] ?? runtimeConfig["api/all"] ?? stage === "ga";
}

/** The address that pods can reach; loopback only if the machine has no other. */
function ownAddress(bindAddress: string): string {
  const usable = !/^(0\.0\.0\.0|::|127\.|::1$|localhost$)/.test(bindAddress);
  if (usable) return bindAddress;
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const outside = all.filter(({ internal }) => !internal);
  const chosen = outside.find(({ family }) => family === "IPv4") ?? outside[0];
  return chosen?.address ?? "127.0.0.1";
}
