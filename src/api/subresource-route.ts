/** What routing, discovery and OpenAPI know about a subresource. */
import type { StructSchema } from "#api/schema/schema.ts";

export interface SubresourceRoute {
  readonly name: string;
  /** As authorization and discovery name them. */
  readonly verbs: readonly string[];
  /** The kind of what it takes and gives; group and version are "" for those of the resource itself. */
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  /**
   * `object`: a write to the object itself. `scale`: the Scale of the object. `connect`: a stream or a
   * proxy, which chooses the form of its answers. `special`: a verb of its own.
   */
  readonly how: "object" | "scale" | "connect" | "special";
  /** The schema of what it takes and gives, where that is not the object itself. */
  schema?(): StructSchema;
  /** The struct (`core.v1.PodExecOptions`) whose fields are the query's parameters of a connection. */
  readonly options?: string;
}

const PROXY_VERBS = ["create", "delete", "get", "patch", "update"];
const STREAM_VERBS = ["create", "get"];

/** HTTP requests are proxied. */
export function proxyRoute(optionsKind: string): SubresourceRoute {
  return connectRoute("proxy", optionsKind, PROXY_VERBS);
}

/** Bytes flow both ways. */
export function streamRoute(name: string, optionsKind: string): SubresourceRoute {
  return connectRoute(name, optionsKind, STREAM_VERBS);
}

/** `kind`: as discovery names it. `options`: its options, where they are not of that kind. */
export function connectRoute(
  name: string,
  kind: string,
  verbs: readonly string[],
  options = kind,
): SubresourceRoute {
  const gvk = { group: "", version: "", kind };
  return { name, verbs, kind: gvk, how: "connect", options: `core.v1.${options}` };
}

/** POST of an object of another kind. */
export function createRoute(
  name: string,
  kind: SubresourceRoute["kind"],
  schema: () => StructSchema,
): SubresourceRoute {
  return { name, verbs: ["create"], kind, how: "special", schema };
}
