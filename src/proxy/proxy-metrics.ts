/** The metrics of the proxy, under upstream's names. */
import type { Bind, Counter, Gauge, Histogram, Metrics } from "#lib/metrics.ts";
import type { ProxyMode } from "./proxy-mode.ts";

const SYNC = "kubeproxy_sync_proxy_rules";
const SECONDS = [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024];
const SLOW_SECONDS = [2.048, 4.096, 8.192, 16.384];

/** Upstream's: quarters of a second up to one, then whole ones, then coarser. */
const PROGRAMMING_SECONDS = [
  ...[0.25, 0.5],
  ...Array.from({ length: 59 }, (_, at) => at + 1),
  ...[60, 65, 70, 75, 80, 85, 90, 95, 100, 105, 110, 115],
  ...[120, 150, 180, 210, 240, 270, 300],
];

export interface ProxyMetrics {
  readonly duration: Bind<Histogram>;
  readonly lastSync: Bind<Gauge>;
  readonly lastQueued: Bind<Gauge>;
  readonly failures: Bind<Counter>;
  readonly serviceChanges: Bind<Counter>;
  readonly endpointChanges: Bind<Counter>;
  /** From the change of a Service or pod to the rules that follow from it. */
  readonly programming: Histogram;
}

export function addProxyMetrics(metrics: Metrics, mode: ProxyMode): ProxyMetrics {
  const labels = ["ip_family"];
  const failure = mode === "iptables" ? "iptables_restore_failures" : "nftables_sync_failures";
  return {
    duration: metrics.histogram({
      name: `${SYNC}_duration_seconds`,
      help: "SyncProxyRules latency in seconds",
      labels,
      buckets: [...SECONDS, ...SLOW_SECONDS],
    }),
    lastSync: metrics.gauge({
      name: `${SYNC}_last_timestamp_seconds`,
      help: "The last time proxy rules were successfully synced",
      labels,
    }),
    lastQueued: metrics.gauge({
      name: `${SYNC}_last_queued_timestamp_seconds`,
      help: "The last time a sync of proxy rules was queued",
    }),
    failures: metrics.counter({
      name: `${SYNC}_${failure}_total`,
      help: "Cumulative proxy sync failures",
      labels,
    }),
    serviceChanges: metrics.counter({
      name: `${SYNC}_service_changes_total`,
      help: "Cumulative proxy rules Service changes",
    }),
    endpointChanges: metrics.counter({
      name: `${SYNC}_endpoint_changes_total`,
      help: "Cumulative proxy rules Endpoint changes",
    }),
    programming: metrics.histogram({
      name: "kubeproxy_network_programming_duration_seconds",
      help: "In Cluster Network Programming Latency in seconds",
      buckets: PROGRAMMING_SECONDS,
    })(),
  };
}
