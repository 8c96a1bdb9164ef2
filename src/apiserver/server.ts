/** An API server: its parts put together, and its life. */
import { setMaxListeners } from "node:events";
import type { Kind } from "#api/kind.ts";
import type { Prose } from "#api/openapi/definition.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import { SharedTurn } from "#lib/shared-turn.ts";
import type { Store } from "#store/contract.ts";
import type { AdmissionPlugin } from "./admission/plugin.ts";
import { createAdmission } from "./admission-gate.ts";
import { createAdmissionMetrics } from "./admission-metrics.ts";
import { ApiMetrics } from "./api-metrics.ts";
import { addClusterMetrics } from "./cluster-metrics.ts";
import { ColumnDescriptions } from "./column-descriptions.ts";
import { Discovery } from "./discovery.ts";
import type { SpecialVerbs } from "./dispatch.ts";
import { FanOuts } from "./fan-out.ts";
import { addFlowMetrics } from "./flow/flow-metrics.ts";
import { createHandler, type Handler, type PathHandler } from "./handler.ts";
import { Health } from "./health.ts";
import { JoinedItems } from "./joined-items.ts";
import { ObjectStore } from "./object-store.ts";
import type { Objects } from "./objects.ts";
import { OpenApi } from "./openapi.ts";
import { discoveryPaths } from "./paths/discovery-paths.ts";
import { flowPaths } from "./paths/flow-paths.ts";
import { healthPaths } from "./paths/health-paths.ts";
import { indexPath } from "./paths/index-path.ts";
import { issuerPaths, KEYS_PATH } from "./paths/issuer-paths.ts";
import { metricsPath } from "./paths/metrics-path.ts";
import { openApiPaths } from "./paths/openapi-paths.ts";
import { API_VERSION, versionPath } from "./paths/version-path.ts";
import { zPages } from "./paths/z-pages.ts";
import { type KubeletOptions, Kubelets } from "./proxy/kubelets.ts";
import type { RequestInfo } from "./request.ts";
import { Resources } from "./resources.ts";
import type { RequestSecurity } from "./security.ts";
import { countSecurity } from "./security-metrics.ts";
import { type ListSender, SpareBuffers } from "./send-list.ts";
import { ServerObjects } from "./server-objects.ts";
import { IpAllocator } from "./services/ip-allocator.ts";
import { PortAllocator, type PortRange } from "./services/port-allocator.ts";
import { createServiceHooks } from "./services/service-hooks.ts";
import { bindingVerbs } from "./special/binding.ts";
import { type ComponentCheck, componentStatusVerbs } from "./special/component-statuses.ts";
import { connectVerbs } from "./special/connect.ts";
import { evictionVerbs } from "./special/eviction.ts";
import { reviewVerbs } from "./special/reviews.ts";
import type { StartHook, StartStep } from "./start-hooks.ts";
import { StorageCodec, type StoredForm } from "./storage-codec.ts";
import { addCacheMetrics, StoreMetrics } from "./store-metrics.ts";
import { scaleKind } from "./subresources/scale-kind.ts";
import { Tables } from "./table.ts";
import { TimeLimit } from "./time-limit.ts";
import { WatchMetrics } from "./watch-metrics.ts";
import { ZippedLists } from "./zipped-lists.ts";

const WATCH_TIMEOUT_MIN_MS = 1_800_000;
const WRITE_TIMEOUT_MS = 34_000;

export interface ApiServerOptions {
  readonly kinds: readonly Kind[];
  /** Which versions clients may use; all unless given. */
  isServed?(kind: Kind): boolean;
  readonly store: Store;
  /** The store is in this process. */
  readonly storeIsLocal: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly allowPrivileged: boolean;
  /** Upstream's half an hour unless given. */
  readonly watchTimeoutMinMs?: number;
  readonly eventTtlSeconds: number;
  /** What objects are written as; both forms are read. */
  readonly storedForm: StoredForm;
  /** Made with the server's own view of its objects. */
  security(objects: Objects, signal: AbortSignal): RequestSecurity;
  admission(objects: Objects, security: RequestSecurity): readonly AdmissionPlugin[];
  readonly kubelets: Omit<KubeletOptions, "objects">;
  /** The other parts of the control plane, for those who still read ComponentStatuses. */
  readonly components?: Readonly<Record<string, ComponentCheck>>;
  readonly metrics: Metrics;
  /** The API's documentation; read when it is first needed, and not kept. */
  prose(): Prose;
  /** What has to be done before the server counts as ready: `finished` is told of its steps. */
  readonly hooks?: readonly StartHook[];
  /** How the server was started, for /flagz. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Ranges of cluster addresses, one for each family, and of node ports. */
  readonly serviceRanges: readonly string[];
  readonly nodePorts: PortRange;
  /** `HOST:PORT` that clients outside are told to use. */
  readonly externalAddress: string;
}

export interface ApiServer {
  /** For callers in the same process; the HTTP server calls it too. */
  readonly handle: Handler;
  readonly objects: Objects;
  readonly store: ObjectStore;
  readonly resources: Resources;
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
  handshakeFailed(): void;
  /** A step of the start is done. */
  finished(step: StartStep): void;
  /** From now on the server says that it is not ready, so that nobody new comes. */
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
  const { kinds, clock, random, logger } = options;
  const startMs = clock.nowMs();
  const resources = new Resources(kinds, options.isServed);
  const store = new ObjectStore({
    store: options.store,
    local: options.storeIsLocal,
    resources,
    codec: new StorageCodec(resources, options.storedForm),
    clock,
    logger,
    eventTtlSeconds: options.eventTtlSeconds,
    metrics: new StoreMetrics(options.metrics),
  });
  addCacheMetrics(options.metrics, store.cache);
  const watched = new ApiMetrics(options.metrics, startMs / 1000);
  await store.cache.load();
  const done = store.cache.run(signal);
  const objects = new ServerObjects({ store, resources, clock, random });
  const security = countSecurity(options.security(objects, signal), options.metrics, clock);
  const addresses = new IpAllocator({ objects, random, ranges: options.serviceRanges });
  const ports = new PortAllocator({ store: options.store, random, range: options.nodePorts });
  const writeLimit = new TimeLimit(clock, WRITE_TIMEOUT_MS);
  signal.addEventListener("abort", () => writeLimit.stop(), { once: true });
  const parts = {
    resources,
    objects: store,
    admission: createAdmission(
      options.admission(objects, security),
      objects,
      clock,
      createAdmissionMetrics(options.metrics),
    ),
    clock,
    random,
    logger,
    allowPrivileged: options.allowPrivileged,
    watchTimeoutMinMs: options.watchTimeoutMinMs ?? WATCH_TIMEOUT_MIN_MS,
    writeLimit,
    deprecated: (info: RequestInfo, warning: string) => watched.deprecated(info, warning),
    hooks: { "/services": createServiceHooks({ objects, addresses, ports }) },
  };
  const special: SpecialVerbs = {
    ...reviewVerbs(security),
    ...bindingVerbs(objects),
    ...evictionVerbs(objects),
    ...connectVerbs({ objects, random, kubelets: new Kubelets({ objects, ...options.kubelets }) }),
    ...componentStatusVerbs({
      ...options.components,
      "etcd-0": async () =>
        store.cache.current
          ? { well: true, message: "ok" }
          : { well: false, message: "the store is not available" },
    }),
  };
  const discovery = new Discovery(resources.served());
  const openApi = new OpenApi(resources.served(), API_VERSION, options.prose);
  const descriptions = new ColumnDescriptions([...kinds, scaleKind], options.prose);
  const health = new Health(store, options.hooks ?? []);
  health.finished("caches");
  const checkCounts = new Metrics();
  const checked = checkCounts.counter({
    name: "kubernetes_healthchecks_total",
    help: "Health checks that were made, by their outcome.",
    labels: ["name", "type", "status"],
  });
  const paths: PathHandler[] = [
    healthPaths(health.checks, (root, name, well) =>
      checked(name, root, well ? "success" : "error").add(1),
    ),
    versionPath,
    metricsPath({
      metrics: options.metrics,
      checks: health.checks,
      checkCounts,
      startSeconds: startMs / 1000,
    }),
    zPages({ startMs, nowMs: () => clock.nowMs(), flags: options.flags ?? {} }),
    indexPath(discovery, health.checks),
    discoveryPaths(discovery, options.externalAddress),
    openApiPaths(openApi, () => clock.nowMs()),
    flowPaths(security.flow),
    issuerPaths(security, `https://${options.externalAddress}${KEYS_PATH}`),
  ];
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // every watch over HTTP listens
  addFlowMetrics(options.metrics, security.flow);
  addClusterMetrics(options.metrics, objects, addresses, options.nodePorts);
  const tables = new Tables(descriptions, clock);
  const handle = createHandler({ parts, security, metrics: watched, paths, special, tables });
  return {
    handle,
    objects,
    store,
    resources,
    ports,
    discovery,
    tables,
    lists: {
      zipped: new ZippedLists(),
      joined: new JoinedItems(),
      spare: new SpareBuffers(),
      clock,
    },
    turn: new SharedTurn(),
    newAuditId: () => random.uuid(),
    watches: new WatchMetrics(options.metrics),
    handshakeFailed: () => watched.handshakeFailed(),
    countTimeout: (info, brokenOff) => {
      watched.terminated(info, 504);
      if (brokenOff) watched.aborted(info);
    },
    fanOuts: new FanOuts(clock),
    finished: (step) => health.finished(step),
    sayNotReady: () => health.shutDown(),
    shutDown: () => {
      health.shutDown();
      closing.abort();
    },
    closing: closing.signal,
    done,
  };
}
