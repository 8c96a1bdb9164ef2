/**
 * The server blocks of a configuration at work: which of them answers for a name, and with what. A new
 * configuration makes new routes; questions on their way end with the old ones.
 */

import type { Logger } from "#lib/logger.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import {
  type BlockConfig,
  type CacheConfig,
  type DnsConfig,
  type ForwardConfig,
  isInZone,
} from "../config/dns-config.ts";
import {
  type AnswerCacheOptions,
  type CacheClass,
  DEFAULT_CACHE,
} from "../forward/answer-cache.ts";
import { createForwardMetrics } from "../forward/forward-metrics.ts";
import { Forwarder } from "../forward/forwarder.ts";
import { LoopProbe } from "../forward/loop-probe.ts";

export interface RoutesOptions {
  readonly config: DnsConfig;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** As CoreDNS names its servers, for metrics. */
  readonly serverLabel: string;
}

const TTL_SECONDS_MAX = 86_400;

interface Forward {
  readonly config: ForwardConfig;
  readonly forwarder: Forwarder;
}

/** One block with its forwarders. */
export class Route {
  readonly config: BlockConfig;
  readonly #forwards: readonly Forward[];

  constructor(config: BlockConfig, forwards: readonly Forward[]) {
    this.config = config;
    this.#forwards = forwards;
  }

  /** Undefined: the name is refused. */
  forwarder(name: string): Forwarder | undefined {
    return this.#forwards.find(
      ({ config: { from, except } }) =>
        isInZone(name, from) && !except.some((zone) => isInZone(name, zone)),
    )?.forwarder;
  }
}

export class Routes {
  readonly #routes: readonly { readonly zone: string; readonly route: Route }[];
  readonly #probes: readonly LoopProbe[];
  #probing: Promise<unknown> = Promise.resolve();

  constructor(options: RoutesOptions, signal: AbortSignal) {
    const probes: LoopProbe[] = [];
    const metrics = createForwardMetrics(options.metrics, options.serverLabel);
    const sizes: ((of: CacheClass) => number)[] = [];
    const shared = {
      ...metrics,
      showEntries: (size: (of: CacheClass) => number) => void sizes.push(size),
    };
    const forwardOf = (config: ForwardConfig, cache: CacheConfig | undefined): Forward => {
      const { clock, random, logger } = options;
      const { upstreams, concurrentMax, policy } = config;
      const forwarder = new Forwarder({
        ...{ upstreams, clock, random, policy, metrics: shared, cache: cacheOptions(cache) },
        ...(concurrentMax === undefined ? {} : { concurrentMax }),
        // Upstreams are probed with the first question for them: a server that is not asked sends nothing.
        onFirstQuestion: () => {
          this.#probing = Promise.all([this.#probing, probe.run(signal)]);
        },
      });
      const probe = new LoopProbe({ forwarder, clock, random, logger });
      probes.push(probe);
      return { config, forwarder };
    };
    this.#routes = options.config.blocks
      .flatMap((block) => {
        const forwards = block.forwards.map((forward) => forwardOf(forward, block.cache));
        const route = new Route(block, forwards);
        return block.zones.map((zone) => ({ zone, route }));
      })
      .sort((a, b) => b.zone.length - a.zone.length);
    this.#probes = probes;
    metrics.showEntries((of) => sizes.reduce((sum, size) => sum + size(of), 0));
  }

  /** The block with the longest zone that has the name; undefined if there is none. */
  find(name: string): Route | undefined {
    return this.#routes.find(({ zone }) => isInZone(name, zone))?.route;
  }

  /** True for the name of a loop probe that has come back. */
  isProbe(name: string): boolean {
    return this.#probes.some((probe) => probe.sees(name));
  }

  /** Resolves when no probe is on its way. */
  async ended(): Promise<void> {
    await this.#probing;
  }
}

function cacheOptions(cache: CacheConfig | undefined): AnswerCacheOptions {
  if (cache === undefined) {
    return { ...DEFAULT_CACHE, entriesMax: 0, ttlMinSeconds: 0, ttlMaxSeconds: TTL_SECONDS_MAX };
  }
  const ttlMaxSeconds = cache.ttlMaxSeconds;
  return { ...DEFAULT_CACHE, ttlMaxSeconds, ttlMinSeconds: Math.min(5, ttlMaxSeconds) };
}
