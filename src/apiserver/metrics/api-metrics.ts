/** Metrics of requests under upstream's names. */
import type { Counter, Histogram, Metrics } from "#lib/metrics.ts";
import type { ApiRequest, RequestInfo } from "../request/request.ts";
import { mediaTypeOf } from "../response/negotiate.ts";
import { addFeatureMetrics } from "./feature-metrics.ts";
import { addProcessMetrics } from "./process-metrics.ts";

const DURATIONS = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
  60,
];
const RESPONSE_BYTES = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
const BODY_BYTES = Array.from({ length: 31 }, (_, at) => 50_000 + at * 100_000);
/** Of what clients are promised: nothing is faster than good enough. */
const PROMISED_DURATIONS = DURATIONS.slice(2);
const COMPONENT = "apiserver";
/** As whom the server asks itself. */
const OWN_USER = "system:apiserver";
/** Paths are the clients' choice: more are not remembered, and the registry has its own limit. */
const ROUTES_MAX = 2_000;
const PLACE = ["group", "version", "resource", "subresource", "scope", "component"];

interface Series {
  readonly durations: Histogram;
  readonly promised: Histogram;
  /** Of what is read. */
  readonly sizes: Histogram | undefined;
  /** Of what is written. */
  readonly bodies: Histogram | undefined;
  readonly counts: Map<number, Counter>;
  readonly labels: readonly string[];
}

export class ApiMetrics {
  readonly #byRoute = new Map<string, Series>();
  readonly #requests: ReturnType<Metrics["counter"]>;
  readonly #durations: ReturnType<Metrics["histogram"]>;
  readonly #promised: ReturnType<Metrics["histogram"]>;
  readonly #sizes: ReturnType<Metrics["histogram"]>;
  readonly #bodies: ReturnType<Metrics["histogram"]>;
  readonly #own: ReturnType<Metrics["counter"]>;
  readonly #aborts: ReturnType<Metrics["counter"]>;
  readonly #deprecated: ReturnType<Metrics["gauge"]>;
  readonly #inFlight: { readonly mutating: Counter; readonly readOnly: Counter };
  readonly #longRunning: ReturnType<Metrics["gauge"]>;
  readonly #handshakeErrors: Counter;
  readonly #terminations: ReturnType<Metrics["counter"]>;

  constructor(metrics: Metrics, startSeconds: number) {
    const labels = ["verb", "dry_run", ...PLACE];
    this.#requests = metrics.counter({
      name: "apiserver_request_total",
      help: "Requests by verb, resource and HTTP code.",
      labels: [...labels, "code"],
    });
    this.#durations = metrics.histogram({
      name: "apiserver_request_duration_seconds",
      help: "Time from the first byte of a request to its answer, watches and the like left out.",
      labels,
      buckets: DURATIONS,
    });
    this.#promised = metrics.histogram({
      name: "apiserver_request_sli_duration_seconds",
      help: "The same without what the server does not answer for, by which promises are measured.",
      labels: ["verb", ...PLACE],
      buckets: PROMISED_DURATIONS,
    });
    this.#sizes = metrics.histogram({
      name: "apiserver_response_sizes",
      help: "Bytes of responses to read requests, as they were sent.",
      labels: ["verb", ...PLACE],
      buckets: RESPONSE_BYTES,
    });
    this.#bodies = metrics.histogram({
      name: "apiserver_request_body_size_bytes",
      help: "Bytes of what was sent to be written.",
      labels: ["verb", "group", "resource"],
      buckets: BODY_BYTES,
    });
    this.#own = metrics.counter({
      name: "apiserver_selfrequest_total",
      help: "Requests of the server to itself.",
      labels: ["verb", "group", "resource", "subresource"],
    });
    this.#aborts = metrics.counter({
      name: "apiserver_request_aborts_total",
      help: "Answers that the server broke off, since their time was over.",
      labels: ["verb", ...PLACE.slice(0, -1)],
    });
    this.#deprecated = metrics.gauge({
      name: "apiserver_requested_deprecated_apis",
      help: "Resources that were asked for in a version that will go, or has a better one.",
      labels: ["group", "version", "resource", "subresource", "removed_release"],
    });
    const inFlight = metrics.gauge({
      name: "apiserver_current_inflight_requests",
      help: "Requests being worked on.",
      labels: ["request_kind"],
    });
    this.#inFlight = { mutating: inFlight("mutating"), readOnly: inFlight("readOnly") };
    this.#longRunning = metrics.gauge({
      name: "apiserver_longrunning_requests",
      help: "Open watches, logs, execs and proxies.",
      labels: ["verb", ...PLACE],
    });
    this.#terminations = metrics.counter({
      name: "apiserver_request_terminations_total",
      help: "Requests that the server ended itself: too late, or too many.",
      labels: ["verb", ...PLACE, "code"],
    });
    this.#handshakeErrors = metrics.counter({
      name: "apiserver_tls_handshake_errors_total",
      help: "Connections that came to no agreement on TLS.",
    })();
    addProcessMetrics(metrics, startSeconds);
    addFeatureMetrics(metrics);
  }

  /** A request begins; call the outcome with its HTTP code and duration. */
  begin(info: RequestInfo): (code: number, seconds: number, request: ApiRequest) => Series {
    const gauge = MUTATING.has(info.verb) ? this.#inFlight.mutating : this.#inFlight.readOnly;
    gauge.add(1);
    return (code, seconds, request) => {
      gauge.add(-1);
      const series = this.#seriesOf(info, request);
      let count = series.counts.get(code);
      if (count === undefined) {
        count = this.#requests(...series.labels, String(code));
        series.counts.set(code, count);
      }
      count.add(1);
      if (request.body.form === "bytes") series.bodies?.observe(request.body.bytes.length);
      if (request.peer.user?.name === OWN_USER) {
        const [verb = "", , group = "", , resource = "", subresource = ""] = series.labels;
        this.#own(verb, group, resource, subresource).add(1);
      }
      if (info.verb === "watch") return series;
      series.durations.observe(seconds);
      series.promised.observe(seconds);
      return series;
    };
  }

  /** A long answer begins; call the outcome when it has ended. */
  longRunning(info: RequestInfo): () => void {
    const gauge = this.#longRunning(verbOf(info, undefined), ...placeOf(info));
    gauge.add(1);
    return () => gauge.add(-1);
  }

  /** The server itself ended a request: too late, or too much. */
  terminated(info: RequestInfo, code: number): void {
    this.#terminations(verbOf(info, undefined), ...placeOf(info), String(code)).add(1);
  }

  /** It broke an answer off. */
  aborted(info: RequestInfo): void {
    this.#aborts(verbOf(info, undefined), ...placeOf(info).slice(0, -1)).add(1);
  }

  handshakeFailed(): void {
    this.#handshakeErrors.add(1);
  }

  /** A resource that warns about itself was asked for. */
  deprecated({ group, version, resource, subresource }: RequestInfo, warning: string): void {
    const removed = /unavailable in v([\d.]+)\+/.exec(warning)?.[1] ?? "";
    this.#deprecated(group, version, resource, subresource, removed).set(1);
  }

  #seriesOf(info: RequestInfo, request: ApiRequest): Series {
    const dryRun = request.query.has("dryRun") ? "All" : "";
    const labels = [verbOf(info, request), dryRun, ...placeOf(info)];
    const key = labels.join(" ");
    const known = this.#byRoute.get(key);
    if (known !== undefined) return known;
    const [verb, , ...place] = labels as [string, string, ...string[]];
    const series = {
      labels,
      durations: this.#durations(...labels),
      promised: this.#promised(verb, ...place),
      sizes: verb === "GET" || verb === "LIST" ? this.#sizes(verb, ...place) : undefined,
      bodies: MUTATING.has(info.verb)
        ? this.#bodies(info.verb, info.group, info.resource)
        : undefined,
      counts: new Map(),
    };
    if (this.#byRoute.size < ROUTES_MAX) this.#byRoute.set(key, series);
    return series;
  }
}

const MUTATING: ReadonlySet<string> = new Set([
  "create",
  "update",
  "patch",
  "delete",
  "deletecollection",
]);

const VERBS: Readonly<Record<string, string>> = {
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  deletecollection: "DELETE",
};
/** Subresources that connect clients with something, by whatever method. */
const CONNECTING: ReadonlySet<string> = new Set(["attach", "exec", "portforward", "proxy"]);

/** Methods are the clients' choice, too. */
const KNOWN_VERBS: ReadonlySet<string> = new Set([
  ...["APPLY", "CONNECT", "DELETE", "GET", "HEAD", "LIST", "PATCH", "POST", "PUT", "WATCH"],
]);

function verbOf({ verb, subresource }: RequestInfo, request: ApiRequest | undefined): string {
  if (CONNECTING.has(subresource)) return "CONNECT";
  if (verb === "patch") {
    const type = mediaTypeOf(request?.headers["content-type"] ?? "");
    if (type === "application/apply-patch+yaml") return "APPLY";
  }
  const method = VERBS[verb] ?? verb.toUpperCase();
  return KNOWN_VERBS.has(method) ? method : "other";
}

/** Non-resource paths are labelled by their first segment, so that the number of series is bounded. */
function placeOf(info: RequestInfo): string[] {
  const { isResource, verb, group, version, resource, subresource, name, namespace, path } = info;
  if (!isResource) return ["", "", "", ...documentOf(path.split("/")[1] ?? "")];
  const one = name !== "" || verb === "create";
  const scope = one ? "resource" : namespace !== "" ? "namespace" : "cluster";
  return [group, version, resource, subresource, scope, COMPONENT];
}

/** Upstream's words for a document at a path of this beginning: subresource, scope and component. */
function documentOf(root: string): readonly [string, string, string] {
  if (HEALTH.has(root)) return [`/${root}`, "", ""];
  return root === "api" || root === "apis" ? [root, "", COMPONENT] : [`/${root}`, "", COMPONENT];
}

const HEALTH: ReadonlySet<string> = new Set(["healthz", "livez", "readyz"]);
