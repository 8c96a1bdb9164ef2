/** What an event of the audit log says of a request and its answer, in the form of audit.k8s.io/v1. */
import type { Status } from "#api/generated/meta.v1.ts";
import { userInfo } from "../authn/reviews.ts";
import type { ApiRequest, RequestInfo, User } from "../request/request.ts";

const USER_AGENT_LENGTH_MAX = 1024;

/** The user of the request, and the one that they impersonate. */
export interface Requester {
  readonly user: User;
  readonly impersonated?: User;
  /** The kind of grant that allowed it. */
  readonly constraint?: string;
}

export interface AuditedAnswer {
  readonly code: number;
  /** Of failures. */
  readonly status?: Status;
  /** The object or list in the response; called only if it is logged. */
  object?(): unknown;
}

export function headOf(
  request: ApiRequest,
  { verb }: RequestInfo,
  { user, impersonated, constraint }: Requester,
): Readonly<Record<string, unknown>> {
  const query = request.query.toString();
  const agent = request.headers["user-agent"];
  return {
    requestURI: request.rawUrl ?? (query === "" ? request.path : `${request.path}?${query}`),
    verb,
    user: userInfo(user),
    ...(impersonated === undefined ? {} : { impersonatedUser: userInfo(impersonated) }),
    ...(constraint ? { authenticationMetadata: { impersonationConstraint: constraint } } : {}),
    sourceIPs: sourceAddresses(request),
    ...(agent === undefined ? {} : { userAgent: cut(agent) }),
  };
}

function cut(agent: string): string {
  if (agent.length <= USER_AGENT_LENGTH_MAX) return agent;
  return `${agent.slice(0, USER_AGENT_LENGTH_MAX)}...TRUNCATED`;
}

/** The first is the nearest to the client; what proxies say is taken on trust. */
function sourceAddresses({ headers, peer }: ApiRequest): string[] {
  const forwarded = (headers["x-forwarded-for"] ?? "").split(",").map((one) => one.trim());
  const all = [...forwarded, headers["x-real-ip"] ?? "", peer.address.replace(/^::ffff:/, "")];
  return [...new Set(all.filter((address) => address !== ""))];
}

/** What only the object says of itself. */
export interface NamedObject {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

export function objectRef(
  info: RequestInfo,
  sent: NamedObject,
): { objectRef?: Readonly<Record<string, string>> } {
  if (!info.isResource) return {};
  const { resource, subresource, namespace, group, version } = info;
  const fields = {
    resource,
    namespace: namespace || sent.namespace,
    name: info.name || sent.name,
    uid: sent.uid,
    apiGroup: group,
    apiVersion: version,
    resourceVersion: sent.resourceVersion,
    subresource,
  };
  const present = Object.entries(fields).filter(([, value]) => value);
  return { objectRef: Object.fromEntries(present) as Record<string, string> };
}

export function responseStatus({ code, status }: AuditedAnswer): Readonly<Record<string, unknown>> {
  if (status === undefined) return { metadata: {}, code };
  const { reason, message, details } = status;
  return {
    metadata: {},
    status: status.status,
    ...(message === undefined ? {} : { message }),
    ...(reason === undefined ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    code,
  };
}

export function withoutManagedFields(object: unknown): unknown {
  if (typeof object !== "object" || object === null || Array.isArray(object)) return object;
  const { metadata, items, ...rest } = object as {
    metadata?: Record<string, unknown>;
    items?: unknown[];
  };
  const { managedFields: _managed, ...kept } = metadata ?? {};
  return {
    ...rest,
    ...(metadata === undefined ? {} : { metadata: kept }),
    ...(Array.isArray(items) ? { items: items.map(withoutManagedFields) } : {}),
  };
}
