/** Metrics of the data plane. Labels name Ingresses and Services, never what a client sent. */
import type { Bind, Counter, Gauge, Histogram, Metrics } from "#lib/metrics.ts";

export interface IngressMetrics {
  /** Labels: namespace, ingress, service, code. */
  readonly requests: Bind<Counter>;
  /** Labels: namespace, ingress, service. */
  readonly durationSeconds: Bind<Histogram>;
  readonly bytesSent: Bind<Counter>;
  /** Attempts at another endpoint. */
  readonly retries: Bind<Counter>;
  readonly connections: Gauge;
  readonly active: Gauge;
  readonly tableUpdates: Counter;
}

const ROUTE = ["namespace", "ingress", "service"];
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export function createIngressMetrics(metrics: Metrics): IngressMetrics {
  const counter = (name: string, help: string, labels: readonly string[]): Bind<Counter> =>
    metrics.counter({ name: `k8ts_ingress_${name}`, help, labels });
  const gauge = (name: string, help: string): Gauge =>
    metrics.gauge({ name: `k8ts_ingress_${name}`, help })();
  return {
    requests: counter("requests_total", "Requests that were answered.", [...ROUTE, "code"]),
    durationSeconds: metrics.histogram({
      ...{ name: "k8ts_ingress_request_duration_seconds", labels: ROUTE, buckets: BUCKETS },
      help: "Time from the headers of a request to the end of its response.",
    }),
    bytesSent: counter("response_bytes_total", "Bytes of response bodies.", ROUTE),
    retries: counter("retries_total", "Requests sent to another endpoint.", ROUTE),
    connections: gauge("connections", "Open connections of clients."),
    active: gauge("active_requests", "Requests that are executing."),
    tableUpdates: counter("routing_table_updates_total", "Routing tables that were built.", [])(),
  };
}
