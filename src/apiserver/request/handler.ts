/**
 * The chain that every request goes through, whatever brought it. This is its one description:
 *
 *   1. request info        path and query become group, version, resource, verb   request-info.ts
 *   2. authentication      and impersonation                                      security.ts
 *   3. audit               the event RequestReceived                              flow-and-audit.ts
 *   4. flow control        a seat of a priority level, or 429                     flow-and-audit.ts
 *   5. authorization                                                              security.ts
 *   6. body                is read only now, when the client may do what it asks
 *                          Group versions of other servers go there    aggregation/
 *   7. route               the verb of a resource and the form of its answer      dispatch.ts
 *   8. verb                verbs/, special/, subresources/; paths that are no
 *                          resource (health, discovery) are in paths/
 *   9. answer              metrics here; ResponseComplete and the seat in flow-and-audit.ts
 *
 * A verb that writes takes the steps of write/write-object.ts.
 */
import { parseDuration } from "#api/meta/duration.ts";
import { badRequestStatus, internalErrorStatus } from "#api/meta/status.ts";
import type { Tracer } from "#lib/tracing/tracer.ts";
import type { AuditTrail } from "../audit/audit.ts";
import { anonymousUser } from "../authn/users.ts";
import { undecidedText } from "../authz/forbidden.ts";
import { isLongRunning } from "../flow/concurrency-limiter.ts";
import type { ApiMetrics } from "../metrics/api-metrics.ts";
import { type Answer, NO_SNIFFING, statusAnswer, textAnswer } from "../response/answer.ts";
import type { Tables } from "../response/table.ts";
import { inRequestSpan, inVerbSpan } from "../tracing/request-spans.ts";
import { dispatch, mediaOrJson, type SpecialVerbs } from "./dispatch.ts";
import { whenSent, withFlowAndAudit } from "./flow-and-audit.ts";
import type { ApiRequest, RequestInfo, User } from "./request.ts";
import { requestInfoOf } from "./request-info.ts";
import type { RequestSecurity } from "./security.ts";
import type { ServerParts } from "./verb.ts";

/** Authentication and authorization. */
export type Security = Pick<RequestSecurity, "authenticate" | "authorize" | "flow" | "audit">;

/** Something other than a resource at a path: health, version, discovery. Undefined: not here. */
export type PathHandler = (
  request: ApiRequest,
  info: RequestInfo,
  user: User,
) => Answer | Promise<Answer> | undefined;

export interface HandlerOptions {
  readonly parts: ServerParts;
  readonly security: Security;
  readonly metrics: ApiMetrics;
  readonly tracer?: Tracer | undefined;
  readonly paths: readonly PathHandler[];
  /** Group versions of aggregated API servers. They take precedence over those of this server. */
  readonly aggregated?: PathHandler;
  readonly special: SpecialVerbs;
  readonly tables: Tables;
}

export type Handler = (request: ApiRequest) => Promise<Answer>;

export function createHandler(options: HandlerOptions): Handler {
  const { parts, metrics } = options;
  return async (request) => {
    const info = requestInfoOf(request.method, request.path, request.query);
    const startMs = parts.clock.elapsedMs();
    const done = metrics.begin(info);
    const answer = await answerSafely(options, request, info);
    const seconds = (parts.clock.elapsedMs() - startMs) / 1000;
    const { sizes } = done(answer.code, seconds, request);
    logRequest(options, request, info, answer.code, seconds);
    answer.executed?.observe(seconds);
    if (answer.code === 429 && answer.body.form === "bytes") metrics.terminated(info, 429);
    if (LONG.has(answer.body.form)) return whenSent(answer, metrics.longRunning(info));
    return sizes === undefined ? answer : { ...answer, sizes };
  };
}

/** At `-v 3` and above; as upstream's line, which has the same fields. */
function logRequest(
  { parts }: HandlerOptions,
  { rawUrl, path, headers, auditId, peer }: ApiRequest,
  { verb }: RequestInfo,
  resp: number,
  seconds: number,
): void {
  parts.logger.debug("HTTP", () => ({
    verb: verb.toUpperCase(),
    URI: rawUrl ?? path,
    latency: `${(seconds * 1000).toFixed(3)}ms`,
    userAgent: headers["user-agent"] ?? "",
    "audit-ID": auditId ?? "",
    srcIP: peer.address,
    resp,
  }));
}

/** Paths of API groups that are not served are like any other unknown path. */
function isServedBelow(resources: ServerParts["resources"], { group, path }: RequestInfo): boolean {
  if (path.startsWith("//")) return false;
  return group === "" ? path.startsWith("/api/") : resources.hasGroup(group);
}

/** `/api/v1/watch` of nothing: upstream's words for a path that it cannot take apart. */
function nothingNamed(path: string): string {
  const why = `unable to determine kind and namespace from url, ${path}`;
  return `Internal Server Error: ${JSON.stringify(path)}: failed to create RequestInfo: ${why}\n`;
}

const LONG: ReadonlySet<string> = new Set(["watch", "stream", "tunnel"]);

/** Requests that end by themselves may say how long they have. */
function timeoutFault(query: URLSearchParams): string | undefined {
  const timeout = query.get("timeout") ?? "";
  if (timeout === "") return undefined;
  const parsed = parseDuration(timeout);
  if (parsed.ok) return undefined;
  return `invalid timeout specified in the request URL - ${parsed.error}`;
}

/** An exception becomes a 500 response. */
async function answerSafely(
  options: HandlerOptions,
  request: ApiRequest,
  info: RequestInfo,
): Promise<Answer> {
  const { parts, security } = options;
  const receivedMs = parts.clock.nowMs();
  if (info.version !== "" && !info.isResource) return textAnswer(500, nothingNamed(info.path));
  const badTimeout = isLongRunning(info) ? undefined : timeoutFault(request.query);
  if (badTimeout !== undefined) {
    return statusAnswer(badRequestStatus(badTimeout), { media: mediaOrJson(request) });
  }
  try {
    const authentication = security.authenticate(request, info);
    const known = authentication instanceof Promise ? await authentication : authentication;
    if ("status" in known) {
      security.audit?.refused(request, info, known, receivedMs);
      const headers = known.status.code === 403 ? NO_SNIFFING : {};
      return statusAnswer(known.status, { media: mediaOrJson(request), headers });
    }
    const { user, impersonator = user } = known;
    if (impersonator.name !== anonymousUser.name) request.authenticated?.();
    const { tracer } = options;
    const answer = (): Promise<Answer> =>
      withFlowAndAudit(options, request, info, known, receivedMs, (trail) =>
        answerOf(options, request, info, known.user, trail),
      );
    if (tracer === undefined) return await answer();
    return await inRequestSpan(tracer, request, info, impersonator, receivedMs, answer);
  } catch (error) {
    parts.logger.error("request failed", { error, path: request.path, method: request.method });
    return statusAnswer(internalErrorStatus("the server could not handle the request"));
  }
}

async function answerOf(
  options: HandlerOptions,
  request: ApiRequest,
  info: RequestInfo,
  user: User,
  trail: AuditTrail | undefined,
): Promise<Answer> {
  const decision = options.security.authorize(request, info, user, trail);
  const refusal = decision instanceof Promise ? await decision : decision;
  if (refusal?.code === 500) {
    const why = refusal.details?.causes?.[0]?.message ?? "";
    return textAnswer(500, undecidedText(request, why));
  }
  if (refusal !== undefined) {
    return statusAnswer(refusal, { media: mediaOrJson(request), headers: NO_SNIFFING });
  }
  if (request.receiveBody !== undefined && !(await request.receiveBody())) {
    return statusAnswer(badRequestStatus("unexpected EOF"));
  }
  const elsewhere = options.aggregated?.(request, info, user);
  if (elsewhere !== undefined) return await elsewhere;
  if (info.isResource && isServedBelow(options.parts.resources, info)) {
    const { tracer } = options;
    const carryOut = (): Promise<Answer> => dispatch(options, request, info, user, trail);
    return await (tracer === undefined ? carryOut() : inVerbSpan(tracer, request, info, carryOut));
  }
  for (const path of options.paths) {
    const found = path(request, info, user);
    if (found !== undefined) return await found;
  }
  return textAnswer(404, "404 page not found\n");
}
