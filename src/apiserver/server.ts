/** An API server: its parts put together, and its life. */
import { setMaxListeners } from "node:events";
import type { Kind } from "#api/kind.ts";
import type { Descriptions } from "#api/openapi/definition.ts";
import { onAbort } from "#lib/async/aborted.ts";
import { KeyLocks } from "#lib/async/key-locks.ts";
import { SharedTurn } from "#lib/async/shared-turn.ts";
import type { Logger } from "#lib/logger.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Tracer } from "#lib/tracing/tracer.ts";
import type { Store } from "#store/contract.ts";
import { createAdmission } from "./admission/admission-chain.ts";
import type { AdmissionPlugin } from "./admission/plugin.ts";
import { AvailabilityChecks } from "./aggregation/availability.ts";
import { aggregatedPaths, proxyRequest } from "./aggregation/proxy-request.ts";
import { type ClientCertificate, RemoteApis } from "./aggregation/remote-apis.ts";
import { RemoteDiscovery } from "./aggregation/remote-discovery.ts";
import { RemoteSchemas } from "./aggregation/remote-schemas.ts";
import { CustomResources } from "./crd/custom-resources.ts";
import { Discovery } from "./discovery/discovery.ts";
import type { EncryptedStore } from "./encryption/encrypted-store.ts";
import { Health } from "./health/health.ts";
import type { HealthCheck } from "./health/health-paths.ts";
import type { StartHook, StartStep } from "./health/start-hooks.ts";
import { createAdmissionMetrics } from "./metrics/admission-metrics.ts";
import { ApiMetrics } from "./metrics/api-metrics.ts";
import { addClusterMetrics } from "./metrics/cluster-metrics.ts";
import { addFlowMetrics } from "./metrics/flow-metrics.ts";
import { countSecurity } from "./metrics/security-metrics.ts";
import { addCacheMetrics, StoreMetrics } from "./metrics/store-metrics.ts";
import { WatchMetrics } from "./metrics/watch-metrics.ts";
import { serverPaths } from "./paths/server-paths.ts";
import type { KubeletOptions } from "./proxy/kubelets.ts";
import { KindRegistry } from "./registry/kind-registry.ts";
import { createHandler, type Handler } from "./request/handler.ts";
import type { RequestInfo } from "./request/request.ts";
import type { RequestSecurity } from "./request/security.ts";
import { TimeLimit } from "./request/time-limit.ts";
import { YamlThread } from "./request/yaml-thread.ts";
import { ColumnDescriptions } from "./response/column-descriptions.ts";
import { ZippedLists } from "./response/compressed-list-cache.ts";
import { JoinedItems } from "./response/list-bytes-cache.ts";
import { type ListSender, SpareBuffers } from "./response/send-list.ts";
import { Tables } from "./response/table.ts";
import { IpAllocator } from "./services/ip-allocator.ts";
import { PortAllocator, type PortRange } from "./services/port-allocator.ts";
import { createServiceHooks } from "./services/service-hooks.ts";
import type { ComponentCheck } from "./special/component-statuses.ts";
import { specialVerbs } from "./special/special-verbs.ts";
import { ObjectStore, type StoreOverride } from "./storage/object-store.ts";
import type { Objects } from "./storage/objects.ts";
import { ServerObjects } from "./storage/server-objects.ts";
import { StorageCodec, type StoredForm } from "./storage/storage-codec.ts";
import { scaleKind } from "./subresources/scale-kind.ts";
import { FanOuts } from "./watch/fan-out.ts";
import { BOOKMARK_EVERY_MS } from "./watch/watch-feed.ts";
import { HttpsCaller } from "./webhook/https-caller.ts";
import { ServiceResolver } from "./webhook/service-resolver.ts";
import { WebhookClient } from "./webhook/webhook-client.ts";

const WATCH_TIMEOUT_MIN_MS = 1_800_000;
const WRITE_TIMEOUT_MS = 34_000;
/** Longer than a hundred writes of one object take, short beside the time that a webhook has. */
const LINE_WAIT_MS = 500;

export interface ApiServerOptions {
  readonly kinds: readonly Kind[];
  /** Which versions clients may use; all unless given. */
  isServed?(kind: Kind): boolean;
  readonly store: Store;
  /** The same store, if values in it are encrypted. */
  readonly encryption?: EncryptedStore | undefined;
  /** Resources that lie in stores of their own. */
  readonly storeOverrides?: readonly StoreOverride[];
  /** Of parts that are not always there, such as KMS plugins: for /healthz and /readyz. */
  readonly healthChecks?: readonly HealthCheck[];
  /** The store is in this process. */
  readonly storeIsLocal: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly allowPrivileged: boolean;
  /** Names of features that are off by default and on here. */
  readonly features?: readonly string[];
  /** Upstream's half an hour unless given. */
  readonly watchTimeoutMinMs?: number;
  /** Between two bookmarks of a watch; upstream's minute unless given. */
  readonly bookmarkEveryMs?: number;
  readonly eventTtlSeconds: number;
  /** The time that a request to an aggregated API server has; no limit unless given. */
  readonly requestTimeoutMs?: number;
  /** What objects are written as; both forms are read. */
  readonly storedForm: StoredForm;
  /** Made with the server's own view of its objects. */
  security(objects: Objects, signal: AbortSignal): RequestSecurity;
  /** The plug-ins live until the signal aborts. */
  admission(parts: AdmissionParts, signal: AbortSignal): readonly AdmissionPlugin[];
  readonly kubelets: Omit<KubeletOptions, "objects">;
  /** What aggregated API servers are shown; asked for anew for each request, since it is renewed. */
  frontProxyClient?(): ClientCertificate;
  /** Health checks of the other control plane components, for ComponentStatuses. */
  readonly components?: Readonly<Record<string, ComponentCheck>>;
  readonly metrics: Metrics;
  /** Makes spans of requests, and of calls to webhooks and other API servers; none unless given. */
  readonly tracer?: Tracer | undefined;
  /** The API's documentation; read when it is first needed, and not kept. */
  descriptions(): Descriptions;
  /** Post-start hooks, which must finish before the server is ready; `finished` reports their steps. */
  readonly hooks?: readonly StartHook[];
  /** How the server was started, for /flagz. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Whether profiles of the process are served; they are unless given. */
  readonly profiling?: boolean;
  /** Ranges of cluster addresses, one for each family, and of node ports. */
  readonly serviceRanges: readonly string[];
  readonly nodePorts: PortRange;
  /** `HOST:PORT` published to clients outside the cluster. */
  readonly externalAddress: string;
}

/** What admission plug-ins may use of the server. */
export interface AdmissionParts {
  readonly objects: Objects;
  readonly security: RequestSecurity;
  readonly resources: KindRegistry;
  readonly webhooks: WebhookClient;
}

export interface ApiServer {
  /** For callers in the same process; the HTTP server calls it too. */
  readonly handle: Handler;
  readonly objects: Objects;
  readonly store: ObjectStore;
  readonly resources: KindRegistry;
  readonly discovery: Discovery;
  readonly tables: Tables;
  readonly lists: ListSender;
  /** The node ports of Services. */
  readonly ports: PortAllocator;
  /** In which requests that came at the same time begin together. */
  readonly turn: SharedTurn;
  newAuditId(): string;
  readonly watches: WatchMetrics;
  /** A request took longer than it may. */
  countTimeout(info: RequestInfo, brokenOff: boolean): void;
  readonly fanOuts: FanOuts;
  /** Converts large request bodies. */
  readonly yaml: YamlThread;
  handshakeFailed(): void;
  /** A step of the start is done. */
  finished(step: StartStep): void;
  /** Makes /readyz fail, so that load balancers send no new clients. */
  sayNotReady(): void;
  /** The same, and watches end. */
  shutDown(): void;
  /** Aborts at `shutDown`. */
  readonly closing: AbortSignal;
  /** Ends when the signal aborts. */
  readonly done: Promise<void>;
}

/** Resolves when the caches are loaded: from then on requests can be answered. */
export async function startApiServer(
  options: ApiServerOptions,
  signal: AbortSignal,
): Promise<ApiServer> {
  setMaxListeners(0, signal); // every part of the server listens
  const { kinds, clock, random, metrics } = options;
  const startMs = clock.nowMs();
  const resources = new KindRegistry(kinds, options.isServed);
  const store = createObjectStore(options, resources);
  const watched = new ApiMetrics(metrics, startMs / 1000);
  await store.load();
  const done = store.run(signal);
  const objects = new ServerObjects({ store, resources, clock, random });
  const { logger } = options;
  const { connect } = options.kubelets;
  const caller = new HttpsCaller(clock, connect, options.tracer);
  onAbort(signal, () => caller[Symbol.dispose]());
  const services = new ServiceResolver(objects, random, signal);
  const webhooks = new WebhookClient(caller, services);
  const extensions = { objects, store, resources, clock, logger, random, webhooks };
  await new CustomResources(extensions).start(signal);
  store.cache.forgetUnclaimed();
  const apis = new RemoteApis(services, () => options.frontProxyClient?.());
  const aggregation = { objects, apis, services, caller, clock, random, logger };
  const remoteDiscovery = new RemoteDiscovery(aggregation);
  apis.start(objects, signal);
  new AvailabilityChecks(aggregation).start(signal);
  remoteDiscovery.start(signal);
  const security = countSecurity(options.security(objects, signal), metrics, clock);
  addFlowMetrics(metrics, security.flow);
  const addresses = new IpAllocator({ objects, random, ranges: options.serviceRanges });
  const ports = new PortAllocator({ store: options.store, random, range: options.nodePorts });
  addClusterMetrics(metrics, objects, addresses, options.nodePorts, signal);
  const discovery = new Discovery(resources, remoteDiscovery);
  const health = new Health(store, options.hooks ?? [], options.healthChecks);
  health.finished("caches");
  const tables = new Tables(
    new ColumnDescriptions([...kinds, scaleKind], options.descriptions),
    clock,
  );
  const { tracer } = options;
  const { isCredential } = security;
  const timeoutMs = options.requestTimeoutMs ?? 0;
  const proxying = { apis, isCredential, clock, logger, timeoutMs, connect, tracer };
  const remoteSchemas = new RemoteSchemas(aggregation, (api, request, info, user) =>
    proxyRequest(proxying, api, request, info, user),
  );
  remoteSchemas.start(signal);
  const handle = createHandler({
    parts: {
      resources,
      objects: store,
      admission: createAdmission(
        options.admission({ objects, security, resources, webhooks }, signal),
        objects,
        clock,
        createAdmissionMetrics(metrics),
      ),
      clock,
      random,
      logger: options.logger,
      allowPrivileged: options.allowPrivileged,
      features: options.features ?? [],
      watchTimeoutMinMs: options.watchTimeoutMinMs ?? WATCH_TIMEOUT_MIN_MS,
      bookmarkEveryMs: options.bookmarkEveryMs ?? BOOKMARK_EVERY_MS,
      writeLimit: createWriteLimit(clock, signal),
      updateLocks: new KeyLocks(clock, LINE_WAIT_MS),
      deprecated: (info, warning) => watched.deprecated(info, warning),
      hooks: { "/services": createServiceHooks({ objects, addresses, ports }) },
    },
    security,
    metrics: watched,
    tracer,
    paths: serverPaths({
      ...options,
      resources,
      discovery,
      health,
      security,
      startMs,
      flags: options.flags ?? {},
      remoteSchemas,
      profiling: options.profiling ?? true,
    }),
    aggregated: aggregatedPaths(proxying),
    special: specialVerbs({ ...options, objects, store, security, components: options.components }),
    tables,
  });
  return {
    handle,
    objects,
    store,
    resources,
    ports,
    discovery,
    tables,
    done,
    ...servingState(options, watched),
    ...lifeOf(health),
  };
}

function createObjectStore(options: ApiServerOptions, resources: KindRegistry): ObjectStore {
  const { clock, logger, eventTtlSeconds, metrics } = options;
  const store = new ObjectStore({
    store: options.store,
    encryption: options.encryption,
    overrides: options.storeOverrides ?? [],
    local: options.storeIsLocal,
    resources,
    codec: new StorageCodec(resources, options.storedForm),
    clock,
    logger,
    eventTtlSeconds,
    metrics: new StoreMetrics(metrics),
    tracer: options.tracer,
  });
  addCacheMetrics(metrics, store.cache);
  return store;
}

function createWriteLimit(clock: Clock, signal: AbortSignal): TimeLimit {
  const limit = new TimeLimit(clock, WRITE_TIMEOUT_MS);
  onAbort(signal, () => limit.stop());
  return limit;
}

/** What those share who answer over HTTP. */
function servingState({ clock, random, metrics }: ApiServerOptions, watched: ApiMetrics) {
  return {
    lists: {
      zipped: new ZippedLists(),
      joined: new JoinedItems(),
      spare: new SpareBuffers(),
      clock,
    },
    turn: new SharedTurn(),
    fanOuts: new FanOuts(clock),
    yaml: new YamlThread(clock),
    watches: new WatchMetrics(metrics),
    newAuditId: () => random.uuid(),
    handshakeFailed: () => watched.handshakeFailed(),
    countTimeout: (info: RequestInfo, brokenOff: boolean) => {
      watched.terminated(info, 504);
      if (brokenOff) watched.aborted(info);
    },
  };
}

/** How the server comes to be ready, and how it ends. */
function lifeOf(health: Health) {
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // every watch over HTTP listens
  return {
    finished: (step: StartStep) => health.finished(step),
    sayNotReady: () => health.shutDown(),
    shutDown: () => {
      health.shutDown();
      closing.abort();
    },
    closing: closing.signal,
  };
}
