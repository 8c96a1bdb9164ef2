/** Metrics of the events sent to watchers under upstream's names. */
import type { Kind } from "#api/kind.ts";
import type { Counter, Histogram, Metrics } from "#lib/metrics.ts";

const LABELS = ["group", "version", "resource"];
const SIZES = [1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072];

/** Called with the bytes of each event. */
export type CountEvent = (bytes: number) => void;

export class WatchMetrics {
  readonly #byKind = new WeakMap<Kind, CountEvent>();
  readonly #events: (...labels: string[]) => Counter;
  readonly #sizes: (...labels: string[]) => Histogram;

  constructor(metrics: Metrics) {
    this.#events = metrics.counter({
      name: "apiserver_watch_events_total",
      help: "Events that were sent to watchers.",
      labels: LABELS,
    });
    this.#sizes = metrics.histogram({
      name: "apiserver_watch_events_sizes",
      help: "Their bytes.",
      labels: LABELS,
      buckets: SIZES,
    });
  }

  of(kind: Kind): CountEvent {
    const known = this.#byKind.get(kind);
    if (known !== undefined) return known;
    const place = [kind.group, kind.version, kind.names.plural];
    const events = this.#events(...place);
    const sizes = this.#sizes(...place);
    const count = (bytes: number): void => {
      events.add(1);
      sizes.observe(bytes);
    };
    this.#byKind.set(kind, count);
    return count;
  }
}
