/** The metrics server's own series, under metrics-server's names. */
import type { Bind, Counter, Histogram, Metrics } from "#lib/metrics.ts";

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export class ScrapeMetrics {
  readonly requests: Bind<Counter>;
  readonly duration: Bind<Histogram>;
  readonly #rounds: Bind<Histogram>;
  #lastMs = 0;

  constructor(metrics: Metrics) {
    this.requests = metrics.counter({
      name: "metrics_server_kubelet_request_total",
      help: "Number of requests sent to Kubelet API, by result",
      labels: ["result"],
      seriesMax: 50,
    });
    this.duration = metrics.histogram({
      name: "metrics_server_kubelet_request_duration_seconds",
      help: "Duration of requests to Kubelet API in seconds",
      buckets: SECONDS,
    });
    this.#rounds = metrics.histogram({
      name: "metrics_server_manager_tick_duration_seconds",
      help: "The total time spent collecting and storing metrics in seconds.",
      buckets: SECONDS,
    });
    metrics.gaugeOf(
      {
        name: "metrics_server_kubelet_last_request_time_seconds",
        help: "Time of last request performed to Kubelet API since unix epoch in seconds",
      },
      () => this.#lastMs / 1000,
    );
  }

  round(seconds: number, nowMs: number): void {
    this.#rounds().observe(seconds);
    this.#lastMs = nowMs;
  }
}
