/**
 * Proxies requests below `/apis/GROUP/VERSION` to the server that the APIService names, with the
 * front-proxy headers of the authenticated user and the front-proxy client certificate. Responses and
 * watches are streamed; upgraded connections are tunnelled.
 *
 * If the APIService is not available the client gets 503 at once. Requests for discovery
 * documents have DISCOVERY_TIMEOUT_MS, so that one slow server does not hold up clients that read all. All
 * others but watches and connections have the time of every request, also those of clients in the same
 * process: a server that takes requests and never answers would hang controllers otherwise.
 */
import { requestTooLargeStatus, timeoutStatus } from "#api/meta/status.ts";
import { onAbort } from "#lib/async/aborted.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock, Timer } from "#lib/time/clock.ts";
import type { Tracer } from "#lib/tracing/tracer.ts";
import type { IsCredentialHeader } from "../authn/credential-headers.ts";
import { isLongRunning } from "../flow/concurrency-limiter.ts";
import type { ConnectStream } from "../proxy/connect-stream.ts";
import { forward, forwardedHeaders } from "../proxy/forward.ts";
import type { Target } from "../proxy/target.ts";
import type { PathHandler } from "../request/handler.ts";
import type { ApiRequest, RequestInfo, User } from "../request/request.ts";
import { type Answer, answer, statusAnswer, textAnswer } from "../response/answer.ts";
import type { HttpsEndpoint } from "../webhook/https-caller.ts";
import type { RemoteApi, RemoteApis } from "./remote-apis.ts";
import { type ProxyHeaders, userHeaders } from "./user-headers.ts";

export interface ProxyOptions {
  readonly apis: RemoteApis;
  readonly isCredential: IsCredentialHeader;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The time that a request has; 0 is no limit. */
  readonly timeoutMs: number;
  /** Makes connections; they are made directly without. */
  readonly connect?: ConnectStream | undefined;
  /** Adds the trace context to the proxied request. */
  readonly tracer?: Tracer | undefined;
}

const DISCOVERY_TIMEOUT_MS = 5_000;
const TOO_LATE = "request did not complete within the allotted timeout";
const UNAVAILABLE = "service unavailable\n";
const REDIRECTS = "the backend attempted to redirect this request, which is not permitted";

/** Undefined for paths of group versions that this server serves itself. */
export function aggregatedPaths(options: ProxyOptions): PathHandler {
  return (request, info, user) => {
    const api = options.apis.findByPath(request.path);
    return api === undefined ? undefined : proxyRequest(options, api, request, info, user);
  };
}

type ProxiedInfo = Pick<RequestInfo, "isResource" | "verb" | "subresource">;

export async function proxyRequest(
  options: ProxyOptions,
  api: RemoteApi,
  request: ApiRequest,
  info: ProxiedInfo,
  user: User,
): Promise<Answer> {
  const { apis, isCredential, logger } = options;
  if (!api.isAvailable) return textAnswer(503, UNAVAILABLE);
  const endpoint = apis.endpointOf(api);
  if (!endpoint.ok) {
    logger.warn("an APIService cannot be resolved", {
      name: api.name,
      why: endpoint.status.message,
    });
    return textAnswer(503, UNAVAILABLE);
  }
  if (request.body.form === "too-long") {
    return statusAnswer(requestTooLargeStatus("limit is 3145728"));
  }
  const target = { ...targetOf(endpoint.value, urlOf(request)), connect: options.connect };
  const headers: ProxyHeaders = {
    ...forwardedHeaders(request, isCredential),
    host: `${target.host}:${target.port}`,
    ...(request.auditId === undefined ? {} : { "audit-id": request.auditId }),
    ...userHeaders(user),
    ...options.tracer?.headers(),
  };
  if (wantsUpgrade(request)) {
    const protocol = request.headers.upgrade ?? "";
    const upgrade = { method: request.method, headers, protocol, target };
    return answer(101, { form: "tunnel", tunnel: { how: { form: "joined" }, request: upgrade } });
  }
  return await forwarded(options, request, info, target, headers, api);
}

async function forwarded(
  { clock, apis, timeoutMs }: ProxyOptions,
  { method, body, path, signal }: ApiRequest,
  info: ProxiedInfo,
  target: Target,
  headers: ProxyHeaders,
  api: RemoteApi,
): Promise<Answer> {
  const limited = new AbortController();
  const { isResource } = info;
  const isDiscovery = !isResource && path.split("/").filter((part) => part !== "").length === 3;
  const limitMs = isDiscovery ? DISCOVERY_TIMEOUT_MS : isLongRunning(info) ? 0 : timeoutMs;
  const timer = limitMs === 0 ? undefined : clock.schedule(limitMs, () => limited.abort());
  onAbort(signal, () => limited.abort(signal.reason));
  try {
    const {
      code,
      headers: answered,
      chunks,
    } = await forward({ method, body, signal: limited.signal }, target, headers);
    if (code >= 300 && code <= 399 && answered.location !== undefined) {
      limited.abort();
      timer?.cancel();
      return textAnswer(502, REDIRECTS);
    }
    const whole = timer === undefined ? chunks : endingTimer(chunks, timer);
    const stream = { contentType: "", headers: answered, chunks: whole };
    return answer(code, { form: "stream", stream });
  } catch (error) {
    timer?.cancel();
    if (!signal.aborted) apis.reportFailure(api);
    const isLate = limited.signal.aborted && !signal.aborted;
    if (isLate && !isDiscovery) return statusAnswer(timeoutStatus(TOO_LATE));
    const why = isLate ? "context deadline exceeded" : messageOf(error);
    return textAnswer(503, `error trying to reach service: ${why}\n`);
  }
}

/** The same chunks; the timer runs until they have been read, or are not read any more. */
async function* endingTimer(
  chunks: AsyncIterable<Uint8Array>,
  timer: Timer,
): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
  } finally {
    timer.cancel();
  }
}

function urlOf({ rawUrl, path, query }: ApiRequest): string {
  if (rawUrl !== undefined) return rawUrl;
  const search = query.toString();
  const escaped = path.split("/").map(encodeURIComponent).join("/");
  return search === "" ? escaped : `${escaped}?${search}`;
}

function targetOf(
  { host, port, serverName, ca, insecure, cert, key }: HttpsEndpoint,
  path: string,
): Target {
  return {
    secure: true,
    host,
    port,
    path,
    shown: `https://${host}:${port}${path}`,
    tls: {
      verify: insecure !== true,
      ...(serverName === undefined ? {} : { servername: serverName }),
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    },
  };
}

function wantsUpgrade({ headers }: ApiRequest): boolean {
  return headers.upgrade !== undefined && /\bupgrade\b/i.test(headers.connection ?? "");
}
