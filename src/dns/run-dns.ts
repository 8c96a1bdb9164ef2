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
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import { feedZone } from "./feed-zone.ts";
import { createForwardMetrics } from "./forward/forward-metrics.ts";
import { Forwarder } from "./forward/forwarder.ts";
import { LoopProbe } from "./forward/loop-probe.ts";
import type { Upstream } from "./forward/resolv-conf.ts";
import { createRequestMetrics } from "./server/request-metrics.ts";
import { Responder } from "./server/responder.ts";
import { startTcpServer } from "./server/tcp-server.ts";
import { startUdpServer } from "./server/udp-server.ts";
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
  /** Other names are refused without any. */
  readonly upstreams?: readonly Upstream[];
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
  const feed = feedZone(zone, informers, signal);
  // Upstreams are probed with the first question for them: a server that is not asked sends nothing.
  let probed = Promise.resolve();
  const startProbe = (): void => {
    if (probe !== undefined) probed = probe.run(signal);
  };
  const forwarder = forwarderOf(options, metrics, startProbe);
  const probe =
    forwarder === undefined ? undefined : new LoopProbe({ forwarder, clock, random, logger });
  let isReady = false;
  const responder = new Responder({
    ...{ zone, ttlSeconds, forwarder, clock, random },
    metrics: createRequestMetrics(metrics, { server: serverLabel(options), zone: zone.domain }),
    ready: () => isReady,
    isProbe: (name) => probe?.sees(name) ?? false,
  });
  const listening = listen(options, responder, signal);
  const start = async (): Promise<void> => {
    const [{ port }] = await Promise.all([listening, feed.synced]);
    isReady = true;
    logger.info("DNS is ready", { addresses: options.addresses.join(","), port });
  };
  const ready = start();
  ready.catch(() => undefined); // those who wait for `listening` see it, too
  const done = Promise.all([feed.done, listening])
    .then(() => probed)
    .finally(() => shown[Symbol.dispose]());
  return { ready, done, listening, isReady: () => isReady };
}

function forwarderOf(
  { upstreams = [], clock, random, ...options }: DnsOptions,
  metrics: Metrics,
  onFirstQuestion: () => void,
): Forwarder | undefined {
  if (upstreams.length === 0) return undefined;
  const forwardMetrics = createForwardMetrics(metrics, serverLabel(options));
  return new Forwarder({ upstreams, clock, random, metrics: forwardMetrics, onFirstQuestion });
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
