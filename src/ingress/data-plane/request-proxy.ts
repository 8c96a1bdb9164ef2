/** Answers requests by the routing table: redirects, refusals, and the endpoints of Services. */
import type { Clock } from "#lib/time/clock.ts";
import type { RoutePolicy } from "../routes/route-policy.ts";
import type { Backend, Route } from "../routes/routing-table.ts";
import type { AccessEntry, Limits, TrafficState } from "./data-plane.ts";
import type { Endpoint } from "./endpoint-set.ts";
import {
  answerWith,
  type ClientRequest,
  type ClientResponse,
  type Exchange,
  type Target,
  targetOf,
} from "./exchange.ts";
import { cookieOf, type ForwardedFacts, requestHeaders } from "./headers.ts";
import { type Attempt, Http1Upstream, type Outgoing } from "./http1-upstream.ts";
import { Http2Upstream } from "./http2-upstream.ts";
import type { IngressMetrics } from "./ingress-metrics.ts";
import { rewritePath } from "./rewrite-path.ts";

export interface RequestProxyOptions {
  readonly state: TrafficState;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly metrics: IngressMetrics;
  /** The ports that clients see. */
  readonly publicPorts: { readonly http: number; readonly https: number };
  /** Whether all requests come from nginx in front of this data plane. */
  readonly isFronted?: boolean;
  /** Whether X-Forwarded-* of this client are believed. */
  isTrusted(client: string): boolean;
  onAccess?(entry: AccessEntry): void;
}

type OwnAnswer = readonly [status: number, text: string, headers?: readonly string[]];

const ATTEMPTS_MAX = 3;

export class RequestProxy implements Disposable {
  readonly http1 = new Http1Upstream();
  readonly #http2 = new Http2Upstream();
  readonly #options: RequestProxyOptions;
  readonly #series = new WeakMap<Route, ReturnType<typeof bindSeries>>();
  #active = 0;

  constructor(options: RequestProxyOptions) {
    this.#options = options;
  }

  handle(request: ClientRequest, response: ClientResponse): void {
    const { clock, metrics, state } = this.#options;
    const target = targetOf(request, this.#options.isFronted);
    const match = target === undefined ? undefined : state.table().find(target.host, target.path);
    const exchange: Exchange = {
      ...{ request, response, match, startedMs: clock.elapsedMs(), upstream: "", bytes: 0 },
      target: target ?? NO_TARGET,
    };
    this.#active += 1;
    metrics.active.set(this.#active);
    response.once("close", () => this.#closed(exchange));
    // A client that goes away is no failure of the proxy.
    response.on("error", () => undefined);
    request.on("error", () => undefined);
    const own = this.#ownAnswer(exchange, target);
    if (own !== undefined) answerWith(exchange, ...own);
    else if (match?.route.backend !== undefined) {
      void this.#forward(exchange, match.route, match.route.backend);
    }
  }

  /** The headers for an endpoint. */
  headersFor({ client, authority, isTls }: Target, raw: readonly string[]): string[] {
    const { publicPorts, isTrusted } = this.#options;
    const facts: ForwardedFacts = {
      ...{ client, host: authority, isTls, isTrusted: isTrusted(client) },
      port: isTls ? publicPorts.https : publicPorts.http,
    };
    return requestHeaders(raw, facts);
  }

  /** Drops connections to endpoints that are gone. */
  retain(isThere: (authority: string) => boolean): void {
    this.http1.retain(isThere);
    this.#http2.retain(isThere);
  }

  [Symbol.dispose](): void {
    this.http1[Symbol.dispose]();
    this.#http2[Symbol.dispose]();
  }

  /** What the proxy answers itself, if it does. */
  #ownAnswer({ match, request }: Exchange, target: Target | undefined): OwnAnswer | undefined {
    const { limits, publicPorts } = this.#options;
    if (target === undefined) return [400, "bad request"];
    if (this.#active > limits.requestsMax) return [503, "too many requests"];
    if (match === undefined) return [404, "404 page not found"];
    const { route } = match;
    const redirect = redirectOf(target, route, publicPorts.https);
    if (redirect !== undefined) return redirect;
    const length = Number(request.headers["content-length"] ?? 0);
    const { bodyBytesMax } = route.policy;
    if (bodyBytesMax > 0 && length > bodyBytesMax) return [413, "the body is too large"];
    return route.backend === undefined ? [503, "the backend cannot be used"] : undefined;
  }

  async #forward(exchange: Exchange, route: Route, backend: Backend): Promise<void> {
    const { state, clock } = this.#options;
    const { request } = exchange;
    const endpoints = state.endpoints(backend);
    const { affinity } = route.policy;
    const cookie = affinity && cookieOf(request.headers.cookie, affinity.cookie);
    const tried = new Set<string>();
    let last: Attempt = { outcome: "unsent", why: "no endpoints are ready" };
    for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts++) {
      const endpoint = endpoints.pick(clock.elapsedMs(), tried, cookie);
      if (endpoint === undefined) break;
      if (attempts > 0) this.#seriesOf(route).retries.add(1);
      tried.add(endpoint.authority);
      exchange.upstream = endpoint.authority;
      const set = affinity && endpoint.id !== cookie ? setCookie(route.policy, endpoint) : [];
      last = await this.#send(exchange, endpoint, backend, set);
      if (last.outcome !== "unsent") break;
      endpoints.failed(endpoint, clock.elapsedMs());
    }
    if (last.outcome === "answered") return;
    if (last.outcome === "failed") answerWith(exchange, last.status, last.why);
    else answerWith(exchange, endpoints.size === 0 ? 503 : 502, last.why);
  }

  #send(
    exchange: Exchange,
    endpoint: Endpoint,
    { protocol }: Backend,
    extraHeaders: readonly string[],
  ): Promise<Attempt> {
    const { request, target, match } = exchange;
    const { policy } = match!.route;
    const headers = this.headersFor(target, request.rawHeaders);
    const length = request.headers["content-length"];
    const hasBody = hasBodyOf(request);
    if (hasBody && length === undefined) headers.push("Transfer-Encoding", "chunked");
    const outgoing: Outgoing = {
      ...{ method: request.method ?? "GET", headers, hasBody, policy, extraHeaders },
      path: rewritePath(target.path, match!, policy.rewriteTarget) + target.query,
      bodyBytesMax: length === undefined ? policy.bodyBytesMax : 0,
      isTls: protocol === "HTTPS" || protocol === "GRPCS",
    };
    const isHttp2 = protocol === "GRPC" || protocol === "GRPCS";
    if (!isHttp2) return this.http1.send(exchange, endpoint, outgoing);
    const named = headers.lastIndexOf("Transfer-Encoding");
    if (named !== -1) headers.splice(named, 2); // HTTP/2 has no such header
    return this.#http2.send(exchange, endpoint, outgoing);
  }

  #closed(exchange: Exchange): void {
    const { metrics, clock, onAccess } = this.#options;
    const { request, response, target, match, startedMs, bytes, upstream } = exchange;
    this.#active -= 1;
    metrics.active.set(this.#active);
    const durationMs = clock.elapsedMs() - startedMs;
    const series = match === undefined ? undefined : this.#seriesOf(match.route);
    const status = response.headersSent ? response.statusCode : 499;
    if (series !== undefined) {
      series.duration.observe(durationMs / 1000);
      series.bytes.add(bytes);
      series.requests(status).add(1);
    } else metrics.requests("", "", "", String(status)).add(1);
    onAccess?.({
      ...{ timeMs: clock.nowMs(), client: target.client, protocol: `HTTP/${request.httpVersion}` },
      ...{ method: request.method ?? "", host: target.host, path: target.path },
      ...{ status, bytes, durationMs, upstream },
      ingress: match === undefined ? "" : `${match.route.namespace}/${match.route.ingress}`,
      service: match?.route.backend?.service ?? "",
    });
  }

  #seriesOf(route: Route): ReturnType<typeof bindSeries> {
    let series = this.#series.get(route);
    if (series === undefined) {
      series = bindSeries(this.#options.metrics, route);
      this.#series.set(route, series);
    }
    return series;
  }
}

const NO_TARGET: Target = {
  ...{ client: "", isTls: false, authority: "", host: "", path: "", query: "" },
};

function bindSeries(metrics: IngressMetrics, { namespace, ingress, backend }: Route) {
  const labels = [namespace, ingress, backend?.service.split("/")[1] ?? ""] as const;
  const byStatus = new Map<number, ReturnType<IngressMetrics["requests"]>>();
  return {
    duration: metrics.durationSeconds(...labels),
    bytes: metrics.bytesSent(...labels),
    retries: metrics.retries(...labels),
    requests: (status: number) => {
      let counter = byStatus.get(status);
      if (counter === undefined) {
        counter = metrics.requests(...labels, String(status));
        byStatus.set(status, counter);
      }
      return counter;
    },
  };
}

function redirectOf(
  { host, path, query, isTls }: Target,
  { policy, tls }: Route,
  httpsPort: number,
): OwnAnswer | undefined {
  const redirect = (code: number, url: string): OwnAnswer => [
    code,
    `see ${url}`,
    ["Location", url],
  ];
  if (!isTls && host !== "" && ((policy.sslRedirect && tls) || policy.forceSslRedirect)) {
    const port = httpsPort === 443 ? "" : `:${httpsPort}`;
    return redirect(308, `https://${host}${port}${path}${query}`);
  }
  if (policy.redirect !== undefined) return redirect(policy.redirect.code, policy.redirect.url);
  if (policy.appRoot !== undefined && path === "/") return redirect(302, policy.appRoot);
  return undefined;
}

function setCookie({ affinity }: RoutePolicy, { id }: Endpoint): readonly string[] {
  if (affinity === undefined) return [];
  const { cookie, path, maxAgeSeconds } = affinity;
  const age = maxAgeSeconds === undefined ? "" : `; Max-Age=${maxAgeSeconds}`;
  return ["Set-Cookie", `${cookie}=${id}; Path=${path}${age}; HttpOnly`];
}

function hasBodyOf(request: ClientRequest): boolean {
  if ("stream" in request) return !request.stream.endAfterHeaders;
  const { "content-length": length, "transfer-encoding": encoding } = request.headers;
  return encoding !== undefined || (length !== undefined && length !== "0");
}
