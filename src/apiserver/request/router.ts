/** Which verb of which resource a request is for; paths and methods that nothing serves. */
import type { Status } from "#api/generated/meta.v1.ts";
import type { Verb } from "#api/kind.ts";
import { noSuchPathStatus, type Reason } from "#api/meta/status.ts";
import type { KindRegistry } from "../registry/kind-registry.ts";
import type { ServedResource } from "../storage/resources.ts";
import type { RequestInfo } from "./request.ts";

export type Route =
  | { readonly ok: true; readonly resource: ServedResource; readonly verb: Verb }
  | { readonly ok: false; readonly status: Status };

/** Of a request for a resource itself; subresources have a table of their own. */
export function routeOf(resources: KindRegistry, info: RequestInfo, method: string): Route {
  const resource = resources.find(info.group, info.version, info.resource);
  if (resource === undefined) return { ok: false, status: noSuchPathStatus() };
  if (info.verb === "proxy") return { ok: false, status: noSuchPathStatus() }; // long gone
  const { kind } = resource;
  const namespaced = kind.scope === "Namespaced";
  const named = info.name !== "" && !COLLECTION_VERBS.has(info.verb);
  // Resources with only the verb create have no path for a single object, nor one across namespaces.
  const everywhere = namespaced && info.namespace === "";
  const hasPath = everywhere
    ? kind.verbs.includes("list")
    : info.name === "" || kind.verbs.some((verb) => NAMED_VERBS.has(verb));
  if (!hasPath) return { ok: false, status: noSuchPathStatus() };
  // A namespaced object without a namespace in its path, or the other way round.
  const inOne = named || method === "POST" || info.verb === "deletecollection";
  if (everywhere && inOne) {
    return { ok: false, status: named ? noSuchPathStatus() : methodNotAllowedStatus() };
  }
  const itself = info.resource === "namespaces" && info.name === info.namespace;
  if (!namespaced && info.namespace !== "" && !itself) {
    return { ok: false, status: noSuchPathStatus() };
  }
  // Whether what is listed can be watched is found out where it is listed.
  const sameRoute = info.verb === "watch" ? "list" : (info.verb as Verb);
  if (method === "HEAD" || !kind.verbs.includes(sameRoute)) {
    return { ok: false, status: methodNotAllowedStatus() };
  }
  if (named !== NAMED_VERBS.has(info.verb)) return { ok: false, status: methodNotAllowedStatus() };
  return { ok: true, resource, verb: info.verb as Verb };
}

const COLLECTION_VERBS: ReadonlySet<string> = new Set(["list", "watch", "deletecollection"]);
const NAMED_VERBS: ReadonlySet<string> = new Set(["get", "update", "patch", "delete"]);

export function methodNotAllowedStatus(): Status {
  const message = "the server does not allow this method on the requested resource";
  return routeStatus(405, "MethodNotAllowed", message);
}

/** A patch in a form that no route takes. */
export function unsupportedByRouteStatus(): Status {
  return routeStatus(415, "UnsupportedMediaType", "415: Unsupported Media Type");
}

function routeStatus(code: number, reason: Reason, message: string): Status {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason,
    details: {},
    code,
  };
}
