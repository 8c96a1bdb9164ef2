/** What is counted of the cache and of upstreams, under CoreDNS's names. */
import type { Metrics } from "#lib/metrics.ts";
import { rcodeName } from "../wire/codes.ts";
import type { CacheClass } from "./answer-cache.ts";
import type { Upstream } from "./resolv-conf.ts";

/** 0.25 ms to 8 s, as CoreDNS has them. */
export const TIME_BUCKETS = Array.from({ length: 16 }, (_, i) => 0.00025 * 2 ** i);

export interface ForwardMetrics {
  hit(of: CacheClass): void;
  miss(): void;
  asked(upstream: Upstream, rcode: number, tookMs: number): void;
  failed(upstream: Upstream, tookMs: number): void;
  rejected(): void;
  showEntries(read: (of: CacheClass) => number): void;
}

export function createForwardMetrics(metrics: Metrics, server: string): ForwardMetrics {
  const cache = ["server", "zones", "view"];
  const requests = metrics.counter({
    name: "coredns_cache_requests_total",
    help: "The count of cache requests.",
    labels: cache,
  })(server, ".", "");
  const hits = metrics.counter({
    name: "coredns_cache_hits_total",
    help: "The count of cache hits.",
    labels: ["server", "type", "zones", "view"],
  });
  const byClass = {
    success: hits(server, "success", ".", ""),
    denial: hits(server, "denial", ".", ""),
  };
  const misses = metrics.counter({
    name: "coredns_cache_misses_total",
    help: "The count of cache misses. Deprecated, derive misses from cache hits/requests counters.",
    labels: cache,
  })(server, ".", "");
  const durations = metrics.histogram({
    name: "coredns_proxy_request_duration_seconds",
    help: "Histogram of the time each request took.",
    labels: ["proxy_name", "to", "rcode"],
    buckets: TIME_BUCKETS,
  });
  const forwarded = metrics.counter({
    name: "coredns_forward_requests_total",
    help: "Counter of requests made per upstream.",
    labels: ["to"],
  });
  const responses = metrics.counter({
    name: "coredns_forward_responses_total",
    help: "Counter of responses received per upstream.",
    labels: ["to", "rcode"],
  });
  const rejects = metrics.counter({
    name: "coredns_forward_max_concurrent_rejects_total",
    help: "Counter of the number of queries rejected because the concurrent queries were at maximum.",
  })();
  return {
    hit: (of) => {
      requests.add(1);
      byClass[of].add(1);
    },
    miss: () => {
      requests.add(1);
      misses.add(1);
    },
    asked: (upstream, rcode, tookMs) => {
      const to = addressOf(upstream);
      forwarded(to).add(1);
      responses(to, rcodeName(rcode)).add(1);
      durations("forward", to, rcodeName(rcode)).observe(tookMs / 1000);
    },
    failed: (upstream, tookMs) => {
      const to = addressOf(upstream);
      forwarded(to).add(1);
      durations("forward", to, "SERVFAIL").observe(tookMs / 1000);
    },
    rejected: () => rejects.add(1),
    showEntries: (read) =>
      metrics.gaugesOf(
        {
          name: "coredns_cache_entries",
          help: "The number of elements in the cache.",
          labels: ["server", "type", "zones", "view"],
        },
        () =>
          (["success", "denial"] as const).map((of) => ({
            labels: [server, of, ".", ""],
            value: read(of),
          })),
      ),
  };
}

function addressOf({ address, port }: Upstream): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}
