/** What is counted of requests, under CoreDNS's names. Series are looked up once, not per request. */
import type { Counter, Histogram, Metrics } from "#lib/metrics.ts";
import { TIME_BUCKETS } from "../forward/forward-metrics.ts";
import { type Rcode, rcodeName, typeName } from "../wire/codes.ts";
import type { Query } from "../wire/parse-query.ts";
import type { Origin } from "./responder.ts";

export interface RequestMetrics {
  /** What counts answers to such a query. */
  series(origin: Origin, query: Query, answer: Buffer): AnswerSeries;
  malformed(origin: Origin, rcode: Rcode, bytes: number): void;
}

export interface AnswerSeries {
  count(requestBytes: number, answerBytes: number, tookMs: number): void;
}

const SIZE_BUCKETS = [
  0, 100, 200, 300, 400, 511, 1023, 2047, 4095, 8291, 16_000, 32_000, 48_000, 64_000,
];

export function createRequestMetrics(
  metrics: Metrics,
  { server, zone }: { readonly server: string; readonly zone: string },
): RequestMetrics {
  const request = ["server", "zone", "view"];
  const requests = metrics.counter({
    name: "coredns_dns_requests_total",
    help: "Counter of DNS requests made per zone, protocol and family.",
    labels: [...request, "proto", "family", "type"],
  });
  const durations = metrics.histogram({
    name: "coredns_dns_request_duration_seconds",
    help: "Histogram of the time (in seconds) each request took per zone.",
    labels: request,
    buckets: TIME_BUCKETS,
  });
  const size = (name: string, help: string) =>
    metrics.histogram({ name, help, labels: [...request, "proto"], buckets: SIZE_BUCKETS });
  const requestSizes = size(
    "coredns_dns_request_size_bytes",
    "Size of the EDNS0 UDP buffer in bytes (64K for TCP) per zone and protocol.",
  );
  const responseSizes = size(
    "coredns_dns_response_size_bytes",
    "Size of the returned response in bytes.",
  );
  const responses = metrics.counter({
    name: "coredns_dns_responses_total",
    help: "Counter of response status codes.",
    labels: [...request, "rcode", "plugin"],
  });
  const suffix = `.${zone}`;
  const zoneOf = (name: string): string =>
    name === zone || name.endsWith(suffix) ? `${zone}.` : ".";
  const bound = new Map<string, Series>();
  const seriesOf = (zoneName: string, origin: Origin, type: string, rcode: string): Series => {
    const key = `${zoneName} ${origin.carrier}${origin.family} ${type} ${rcode}`;
    const known = bound.get(key);
    if (known !== undefined) return known;
    const plugin = zoneName === "." ? "forward" : "kubernetes";
    const series = new Series({
      requests: requests(server, zoneName, "", origin.carrier, origin.family, type),
      duration: durations(server, zoneName, ""),
      requestSize: requestSizes(server, zoneName, "", origin.carrier),
      responseSize: responseSizes(server, zoneName, "", origin.carrier),
      responses: responses(server, zoneName, "", rcode, plugin),
    });
    bound.set(key, series);
    return series;
  };
  return {
    series: (origin, query, answer) => {
      const rcode = rcodeName(answer[3]! & 0xf);
      return seriesOf(zoneOf(query.name), origin, typeName(query.type), rcode);
    },
    malformed: (origin, rcode, bytes) => {
      seriesOf("dropped", origin, "other", rcode).countRefused(bytes);
    },
  };
}

interface SeriesParts {
  readonly requests: Counter;
  readonly duration: Histogram;
  readonly requestSize: Histogram;
  readonly responseSize: Histogram;
  readonly responses: Counter;
}

class Series implements AnswerSeries {
  readonly #parts: SeriesParts;

  constructor(parts: SeriesParts) {
    this.#parts = parts;
  }

  count(requestBytes: number, answerBytes: number, tookMs: number): void {
    this.countRefused(requestBytes);
    this.#parts.duration.observe(tookMs / 1000);
    this.#parts.responseSize.observe(answerBytes);
  }

  /** A refusal that consists of the header has no size and no time of its own. */
  countRefused(requestBytes: number): void {
    this.#parts.requests.add(1);
    this.#parts.responses.add(1);
    this.#parts.requestSize.observe(requestBytes);
  }
}
