/**
 * The RequestInfo of a path and a method, for authorization, audit and flow control. Whether such a
 * resource is served is decided by the router.
 */
import { parseFieldSelector } from "#api/meta/field-selector.ts";
import type { RequestInfo } from "./request.ts";

/** Subresources of a namespace itself; anything else below a namespace is a resource in it. */
const NAMESPACE_SUBRESOURCES: ReadonlySet<string> = new Set(["status", "finalize"]);

const VERB_OF_METHOD: Readonly<Record<string, string>> = {
  POST: "create",
  GET: "get",
  HEAD: "get",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

export function requestInfoOf(method: string, path: string, query: URLSearchParams): RequestInfo {
  const segments = segmentsOf(path);
  const grouped = segments[0] === "apis";
  if (!grouped && segments[0] !== "api") return plainInfo(method, path);
  if (segments.length < (grouped ? 4 : 3)) return plainInfo(method, path);
  const group = grouped ? segments[1]! : "";
  const version = segments[grouped ? 2 : 1]!;
  let parts = segments.slice(grouped ? 3 : 2);

  let verb = VERB_OF_METHOD[method] ?? "";
  const oldStyle = parts[0] === "watch" || parts[0] === "proxy" ? parts[0] : undefined;
  if (oldStyle !== undefined) {
    if (parts.length < 2) return { ...plainInfo(method, path), group, version };
    verb = oldStyle;
    parts = parts.slice(1);
  }

  const placed = place(parts);
  const [resource = "", name = ""] = placed.parts;
  const proxied = oldStyle === "proxy";
  const listed = name === "" && LISTABLE.has(verb);
  return {
    isResource: true,
    verb: listed ? collectionVerb(verb, query) : verb,
    path,
    group,
    version,
    resource,
    subresource: proxied ? "" : (placed.parts[2] ?? ""),
    namespace: placed.namespace,
    name: listed && verb === "get" ? selectedName(query) : name,
    rest: placed.parts.slice(proxied ? 2 : 3),
  };
}

/** Of a path at which no resource is. */
function plainInfo(method: string, path: string): RequestInfo {
  return {
    isResource: false,
    verb: method.toLowerCase(),
    path,
    group: "",
    version: "",
    resource: "",
    subresource: "",
    namespace: "",
    name: "",
    rest: [],
  };
}

/** Slashes at both ends do not count; in between, an empty segment is one that nothing is found at. */
function segmentsOf(path: string): string[] {
  let start = 0;
  let end = path.length;
  while (start < end && path[start] === "/") start += 1;
  while (end > start && path[end - 1] === "/") end -= 1;
  return path.slice(start, end).split("/");
}

const LISTABLE: ReadonlySet<string> = new Set(["get", "delete", "watch"]);

/** Splits the namespace off: `namespaces/a/pods/b` is pod b in a, `namespaces/a/status` is of a. */
function place(parts: readonly string[]): { namespace: string; parts: readonly string[] } {
  if (parts[0] !== "namespaces" || parts.length < 2) return { namespace: "", parts };
  const namespace = parts[1]!;
  const inside = parts.length > 2 && !NAMESPACE_SUBRESOURCES.has(parts[2]!);
  return { namespace, parts: inside ? parts.slice(2) : parts };
}

function collectionVerb(verb: string, query: URLSearchParams): string {
  if (verb === "delete") return "deletecollection";
  return verb === "watch" || isTrue(query.get("watch")) ? "watch" : "list";
}

/**
 * The name that a GET of a collection selects by `metadata.name=…`. RBAC rules with resourceNames
 * allow such a list or watch. They allow neither deletecollection nor the deprecated /watch/ paths:
 * those requests have no name.
 */
function selectedName(query: URLSearchParams): string {
  const text = query.get("fieldSelector");
  if (text === null || text === "") return "";
  const selector = parseFieldSelector(text);
  if (!selector.ok) return "";
  const exact = selector.value.find(
    ({ field, operator }) => field === "metadata.name" && operator === "=",
  );
  return exact === undefined || nameFaults(exact.value).length > 0 ? "" : exact.value;
}

/** Whether the path, not the method, says that this is a watch: `/api/v1/watch/pods`. */
export function hasVerbInPath(path: string): boolean {
  return /^\/+(?:api|apis\/[^/]+)\/[^/]+\/watch\//.test(path);
}

/** Why a name cannot be a part of a path. */
export function nameFaults(name: string): readonly string[] {
  if (name === "." || name === "..") return [`may not be '${name}'`];
  if (!/[/%]/.test(name)) return NO_FAULTS;
  return ["/", "%"]
    .filter((sign) => name.includes(sign))
    .map((sign) => `may not contain '${sign}'`);
}

const NO_FAULTS: readonly string[] = [];

/** A flag in a query is set unless it says that it is not. */
export function isTrue(value: string | null): boolean {
  return value !== null && value.toLowerCase() !== "false" && value !== "0";
}
