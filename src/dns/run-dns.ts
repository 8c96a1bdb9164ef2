/**
 * The DNS server of a cluster.
 *
 *     const dns = runDns({ client, clock, random, logger, metrics, addresses: ["127.0.0.1"], port: 53, … }, signal);
 *     await dns.ready;
 *
 * Promises:
 * 1. It listens on every address, over UDP and TCP, on the same port; `ready` rejects if it cannot.
 * 2. It is ready when it has seen every Namespace, Service and EndpointSlice.
 * 3. When the API server cannot be reached it goes on answering from what it has seen.
 */
import type { Client } from "#client/client.ts";
import { SharedInformers } from "#client/shared-informers.ts";
import type { Logger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { type DnsConfig, defaultConfig, needsPods } from "./config/dns-config.ts";
import { feedPods, feedZone } from "./feed-zone.ts";
import { type FollowedConfigMap, followCorefile } from "./follow-corefile.ts";
import type { Upstream } from "./forward/resolv-conf.ts";
import { type Followed, ownSource, sharedSource } from "./object-source.ts";
import { createRequestMetrics } from "./server/request-metrics.ts";
import { Responder } from "./server/responder.ts";
import { Routes } from "./server/routes.ts";
import { startTcpServer } from "./server/tcp-server.ts";
import { startUdpServer } from "./server/udp-server.ts";
import { rcodeName, typeName } from "./wire/codes.ts";
import type { Query } from "./wire/parse-query.ts";
import { PodAddresses } from "./zone/pod-addresses.ts";
import { Zone } from "./zone/zone.ts";

export interface DnsOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** IP addresses to listen on. */
  readonly addresses: readonly string[];
  /** 0: any free one, the same for UDP and TCP. */
  readonly port: number;
  /** Whether a client may ask; all may unless given. */
  isAllowed?(client: string): boolean;
  readonly clusterDomain?: string;
  readonly ttlSeconds?: number;
  /** Without a configuration: other names are refused without any. */
  readonly upstreams?: readonly Upstream[];
  readonly config?: DnsConfig;
  /** Takes the place of `config` while it has a Corefile. */
  readonly configMap?: FollowedConfigMap;
  /** Files that a Corefile may name; none unless given. */
  readFile?(path: string): string;
  /** Of this process, if others use them, too. */
  readonly informers?: SharedInformers;
}

export interface RunningDns {
  readonly ready: Promise<void>;
  readonly done: Promise<void>;
  /** Whether it has seen everything. */
  isReady(): boolean;
  /** Resolves when it listens, maybe before it is ready. */
  readonly listening: Promise<{ readonly port: number }>;
}

export const CLUSTER_DOMAIN = "cluster.local";
/** As CoreDNS's plugin kubernetes has it by default. */
const TTL_SECONDS = 5;
const LISTEN_ATTEMPTS_MAX = 10;

export function runDns(options: DnsOptions, signal: AbortSignal): RunningDns {
  const { client, clock, random, logger, clusterDomain = CLUSTER_DOMAIN } = options;
  const metrics = new Metrics();
  const shown = options.metrics.include(metrics);
  const ttlSeconds = options.ttlSeconds ?? TTL_SECONDS;
  const zone = new Zone({ clusterDomain, ttlSeconds });
  const informers = options.informers ?? new SharedInformers({ client, clock, random, logger });
  const objects =
    options.informers === undefined ? ownSource(options) : sharedSource(options.informers);
  const feed = feedZone(zone, objects, signal);
  const first = options.config ?? defaultConfig(options.upstreams ?? []);
  const configured = new ConfiguredRoutes(options, metrics, signal);
  const pods = new PodAddresses();
  let podFeed: Followed | undefined;
  const use = (config: DnsConfig): void => {
    if (needsPods(config)) podFeed ??= feedPods(pods, objects, signal);
    configured.use(config);
  };
  use(first);
  const followed = follow(options, informers, (config) => use(config ?? first), signal);
  const autoPaths = metrics.counter({
    name: "coredns_autopath_success_total",
    help: "Counter of requests that did autopath.",
    labels: ["server"],
  })(serverLabel(options));
  let isReady = false;
  const responder = new Responder({
    ...{ zone, pods, ttlSeconds, clock, random },
    onAutoPath: () => autoPaths.add(1),
    routes: () => configured.routes,
    metrics: createRequestMetrics(metrics, { server: serverLabel(options), zone: zone.domain }),
    ready: () => isReady,
    onLogged: (query, answer, tookMs) => logQuery(logger, query, answer, tookMs),
  });
  const listening = listen(options, responder, signal);
  const start = async (): Promise<void> => {
    const [{ port }] = await Promise.all([listening, feed.synced, podFeed?.synced]);
    isReady = true;
    logger.info("DNS is ready", { addresses: options.addresses.join(","), port });
  };
  const ready = start();
  ready.catch(() => undefined); // callers that wait for `listening` get the error, too
  const done = Promise.all([feed.done, listening, followed])
    .then(() => podFeed?.done)
    .then(() => configured.routes.ended())
    .finally(() => shown[Symbol.dispose]());
  return { ready, done, listening, isReady: () => isReady };
}

/** The routes of the configuration that was used last, with metrics of their own. */
class ConfiguredRoutes {
  readonly #options: DnsOptions;
  readonly #metrics: Metrics;
  readonly #signal: AbortSignal;
  #routes: Routes | undefined;
  #shown: Disposable | undefined;

  constructor(options: DnsOptions, metrics: Metrics, signal: AbortSignal) {
    this.#options = options;
    this.#metrics = metrics;
    this.#signal = signal;
  }

  get routes(): Routes {
    if (this.#routes === undefined) throw new Error("no configuration is used yet");
    return this.#routes;
  }

  use(config: DnsConfig): void {
    const { clock, random, logger } = this.#options;
    const metrics = new Metrics();
    const shared = { clock, random, logger, metrics, serverLabel: serverLabel(this.#options) };
    this.#routes = new Routes({ ...shared, config }, this.#signal);
    this.#shown?.[Symbol.dispose]();
    this.#shown = this.#metrics.include(metrics);
  }
}

function follow(
  { configMap, logger, clusterDomain = CLUSTER_DOMAIN, readFile = refuseFile }: DnsOptions,
  informers: SharedInformers,
  onConfig: (config: DnsConfig | undefined) => void,
  signal: AbortSignal,
): Promise<void> {
  if (configMap === undefined) return Promise.resolve();
  const surroundings = { clusterDomain, readFile };
  return followCorefile(configMap, { informers, logger, surroundings, onConfig }, signal);
}

function refuseFile(path: string): string {
  throw new Error(`${path} may not be read`);
}

function logQuery(
  logger: Logger,
  { name, type, id }: Query,
  answer: Buffer | undefined,
  tookMs: number,
): void {
  const rcode = answer === undefined ? "none" : rcodeName(answer.readUInt16BE(2) & 0xf);
  const bytes = answer?.length ?? 0;
  logger.info("query", { name: `${name}.`, type: typeName(type), id, rcode, bytes, tookMs });
}

async function listen(
  options: DnsOptions,
  responder: Responder,
  signal: AbortSignal,
): Promise<{ readonly port: number }> {
  for (let attempt = 1; ; attempt++) {
    const life = new AbortController();
    try {
      const port = await listenOnce(options, responder, AbortSignal.any([signal, life.signal]));
      return { port };
    } catch (error) {
      life.abort();
      // A port that is free for UDP may be taken for TCP.
      if (options.port !== 0 || attempt === LISTEN_ATTEMPTS_MAX) throw error;
    }
  }
}

async function listenOnce(
  { addresses, port, isAllowed }: DnsOptions,
  responder: Responder,
  signal: AbortSignal,
): Promise<number> {
  const allowed = isAllowed === undefined ? {} : { isAllowed };
  let bound = port;
  for (const address of addresses) {
    bound = await startUdpServer({ address, port: bound, ...allowed }, responder, signal);
    await startTcpServer({ address, port: bound, ...allowed }, responder, signal);
  }
  return bound;
}

/** As CoreDNS names its servers. */
function serverLabel({ port }: Pick<DnsOptions, "port">): string {
  return `dns://:${port}`;
}
