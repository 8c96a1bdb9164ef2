/** Metrics of a client's requests under upstream's names. */

import type { Bind, Counter, Histogram, Metrics } from "#lib/metrics.ts";
import type { Clock } from "#lib/time/clock.ts";

const SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const BYTES = [64, 256, 512, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216];

/** What became of a request; bytes where there were any. */
export interface RequestEnd {
  /** The answer's; none if there was no answer. */
  readonly code: number | undefined;
  readonly sentBytes?: number;
  readonly receivedBytes?: number;
}

/** A request begins; call the outcome once, when it was answered. */
export type BeginRequest = (method: string) => (end: RequestEnd) => void;

export class RequestMetrics {
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #requests: Bind<Counter>;
  readonly #seconds: Bind<Histogram>;
  readonly #sent: Bind<Histogram>;
  readonly #received: Bind<Histogram>;

  constructor(metrics: Metrics, clock: Pick<Clock, "elapsedMs">) {
    this.#clock = clock;
    const labels = ["host", "verb"];
    this.#requests = metrics.counter({
      name: "rest_client_requests_total",
      help: "Requests to API servers and webhooks, by what they were answered with.",
      labels: ["code", "host", "method"],
    });
    this.#seconds = metrics.histogram({
      name: "rest_client_request_duration_seconds",
      help: "Time until they were answered.",
      labels,
      buckets: SECONDS,
    });
    this.#sent = metrics.histogram({
      name: "rest_client_request_size_bytes",
      help: "Bytes that were sent with them.",
      labels,
      buckets: BYTES,
    });
    this.#received = metrics.histogram({
      name: "rest_client_response_size_bytes",
      help: "Bytes that they were answered with.",
      labels,
      buckets: BYTES,
    });
  }

  /** Of a client of this `HOST:PORT`. */
  to(host: string): BeginRequest {
    const requests = new Map<string, Counter>();
    const seconds = new Map<string, Histogram>();
    const sent = new Map<string, Histogram>();
    const received = new Map<string, Histogram>();
    return (method) => {
      const startMs = this.#clock.elapsedMs();
      return ({ code, sentBytes, receivedBytes }) => {
        const text = code === undefined ? "<error>" : String(code);
        remembered(requests, `${text} ${method}`, () => this.#requests(text, host, method)).add(1);
        remembered(seconds, method, () => this.#seconds(host, method)).observe(
          (this.#clock.elapsedMs() - startMs) / 1000,
        );
        if (sentBytes !== undefined) {
          remembered(sent, method, () => this.#sent(host, method)).observe(sentBytes);
        }
        if (receivedBytes !== undefined) {
          remembered(received, method, () => this.#received(host, method)).observe(receivedBytes);
        }
      };
    };
  }
}

function remembered<T>(known: Map<string, T>, key: string, make: () => T): T {
  let found = known.get(key);
  if (found === undefined) {
    found = make();
    known.set(key, found);
  }
  return found;
}
