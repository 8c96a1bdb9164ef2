/**
 * Spans of requests: one for the whole request, named by method and path as upstream names it, and
 * below it one for the verb of a resource.
 *
 * The client's `traceparent` is the parent only for the groups system:masters and system:monitoring.
 * Other users could otherwise have every request recorded; their span begins a new trace,
 * which has a link to the client's.
 */
import { parseTraceparent } from "#lib/tracing/trace-context.ts";
import type { Attributes, Span, Tracer } from "#lib/tracing/tracer.ts";
import { whenSent } from "../request/flow-and-audit.ts";
import type { ApiRequest, RequestInfo, User } from "../request/request.ts";
import type { Answer } from "../response/answer.ts";

const TRUSTED_GROUPS: readonly string[] = ["system:masters", "system:monitoring"];
const LONG: ReadonlySet<string> = new Set(["watch", "stream", "tunnel"]);
const USER_AGENT_LENGTH_MAX = 128;

/** Answers within the request's span, which ends when the answer is made, or has been sent if it is long. */
export async function inRequestSpan(
  tracer: Tracer,
  request: ApiRequest,
  info: RequestInfo,
  user: User,
  receivedMs: number,
  answer: () => Promise<Answer>,
): Promise<Answer> {
  const client = parseTraceparent(request.headers.traceparent, request.headers.tracestate);
  const trusted = user.groups.some((group) => TRUSTED_GROUPS.includes(group));
  const span = tracer.start({
    name: spanName(request.method, info),
    kind: "server",
    ...(trusted ? { parent: client } : { link: client }),
    startMs: receivedMs,
    attributes: () => httpAttributes(request, info),
  });
  try {
    const answered = await tracer.within(span, answer);
    if (!LONG.has(answered.body.form)) {
      finish(span, answered.code);
      return answered;
    }
    return whenSent(answered, () => finish(span, answered.code));
  } catch (error) {
    finish(span, 500);
    throw error;
  }
}

/** A request of a resource is carried out within a span with upstream's name for its verb. */
export function inVerbSpan(
  tracer: Tracer,
  request: ApiRequest,
  info: RequestInfo,
  answer: () => Promise<Answer>,
): Promise<Answer> {
  const name = info.verb === "watch" ? watchSpan(request) : VERB_SPANS[info.verb];
  if (name === undefined || !info.isResource) return answer();
  return tracer.span({ name, attributes: () => verbAttributes(request, info) }, answer);
}

/** A watch has a span of its own only if it begins with a list. */
function watchSpan({ query }: ApiRequest): string | undefined {
  const isTrue = (name: string): boolean => /^(1|true)$/i.test(query.get(name) ?? "");
  return isTrue("sendInitialEvents") && isTrue("allowWatchBookmarks") ? "WatchList" : undefined;
}

const VERB_SPANS: Readonly<Record<string, string>> = {
  get: "Get",
  list: "List",
  create: "Create",
  update: "Update",
  patch: "Patch",
  delete: "Delete",
  deletecollection: "Delete",
};

function finish(span: Span, code: number): void {
  const attributes = { "http.response.status_code": code };
  span.end(attributes, code >= 500 ? { message: "" } : undefined);
}

function spanName(method: string, info: RequestInfo): string {
  if (!info.isResource) return method;
  const { group, version, namespace, resource, name, subresource } = info;
  const parts = [
    group === "" ? "api" : `apis/${group}`,
    version,
    ...(namespace === "" ? [] : ["namespaces/{:namespace}"]),
    resource,
    ...(name === "" ? [] : ["{:name}"]),
    ...(subresource === "" ? [] : [subresource]),
  ];
  return `${method} /${parts.join("/")}`;
}

/** OpenTelemetry's names, and what upstream adds. */
function httpAttributes(request: ApiRequest, info: RequestInfo): Attributes {
  const { headers, peer, method, auditId } = request;
  const [, host = "", port] = /^(.*?)(?::(\d+))?$/.exec(headers.host ?? "") ?? [];
  const forwarded = headers["x-forwarded-for"]?.split(",")[0]?.trim();
  return {
    "server.address": host,
    "server.port": port === undefined ? undefined : Number(port),
    "http.request.method": method,
    "url.scheme": "https",
    "network.peer.address": peer.address === "" ? undefined : peer.address,
    "user_agent.original": headers["user-agent"],
    "client.address": forwarded || peer.address || undefined,
    "url.path": info.path,
    "http.target": request.rawUrl ?? request.path,
    "audit-id": auditId,
  };
}

function verbAttributes(request: ApiRequest, info: RequestInfo): Attributes {
  const { headers, peer, auditId = "", path } = request;
  const scope = info.name !== "" ? "resource" : info.namespace !== "" ? "namespace" : "cluster";
  return {
    accept: headers.accept ?? "",
    "audit-id": auditId,
    client: peer.address,
    "api-group": info.group,
    "api-version": info.version,
    name: info.name,
    subresource: info.subresource,
    namespace: info.namespace,
    resource: info.resource,
    scope,
    url: path,
    "user-agent": (headers["user-agent"] ?? "").slice(0, USER_AGENT_LENGTH_MAX),
    verb: request.method,
  };
}
