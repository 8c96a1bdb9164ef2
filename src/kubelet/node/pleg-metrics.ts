/**
 * Metrics of how the kubelet learns what happened to containers, under the names of upstream's PLEG:
 * the runtime's event stream, and the list of everything that is read once in a while beside it.
 */
import type { Metrics } from "#lib/metrics.ts";
import type { Clock } from "#lib/time/clock.ts";

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface PlegMetrics {
  /** Everything was listed; it took so long. */
  relisted(seconds: number): void;
  /** An event of a container came. */
  event(): void;
  connected(): void;
  connectionFailed(): void;
}

export function addPlegMetrics(metrics: Metrics, clock: Clock): PlegMetrics {
  const histogram = (name: string, help: string) =>
    metrics.histogram({ name: `kubelet_${name}`, help, buckets: SECONDS })();
  const counter = (name: string, help: string) =>
    metrics.counter({ name: `kubelet_${name}`, help })();
  const duration = histogram("pleg_relist_duration_seconds", "Time to list all containers.");
  const interval = histogram("pleg_relist_interval_seconds", "Time between two such lists.");
  counter("pleg_discard_events", "Events that were dropped.");
  const connections = counter(
    "evented_pleg_connection_success_count",
    "Event streams of the runtime that were opened.",
  );
  const failures = counter(
    "evented_pleg_connection_error_count",
    "Event streams of the runtime that could not be opened or broke.",
  );
  let seenMs = clock.nowMs();
  metrics.gaugeOf(
    {
      name: "kubelet_pleg_last_seen_seconds",
      help: "When containers were last listed or an event of them came, in seconds since 1970.",
    },
    () => Math.floor(seenMs / 1000),
  );
  let lastMs: number | undefined;
  return {
    relisted: (seconds) => {
      duration.observe(seconds);
      const nowMs = clock.elapsedMs();
      if (lastMs !== undefined) interval.observe((nowMs - lastMs) / 1000);
      lastMs = nowMs;
      seenMs = clock.nowMs();
    },
    event: () => {
      seenMs = clock.nowMs();
    },
    connected: () => connections.add(1),
    connectionFailed: () => failures.add(1),
  };
}
