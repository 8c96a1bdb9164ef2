/**
 * Which subresources a resource has, with which verbs, and what kind of object they take: the facts
 * that routing and discovery share.
 */
import type { ServedResource } from "../storage/resources.ts";

export interface SubresourceRoute {
  readonly name: string;
  /** As authorization and discovery name them. */
  readonly verbs: readonly string[];
  /** Of what it takes and gives; of the resource itself unless group and version are given. */
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly how: "object" | "scale" | "connect" | "special";
}

const READ_WRITE = ["get", "patch", "update"];
const PROXY = ["create", "delete", "get", "patch", "update"];
const STREAM = ["create", "get"];

const SPECIAL: Readonly<Record<string, readonly SubresourceRoute[]>> = {
  "/pods": [
    connect("attach", "PodAttachOptions", STREAM),
    special("binding", ["create"], "Binding"),
    special("eviction", ["create"], "Eviction", "policy", "v1"),
    connect("exec", "PodExecOptions", STREAM),
    connect("log", "Pod", ["get"]),
    connect("portforward", "PodPortForwardOptions", STREAM),
    connect("proxy", "PodProxyOptions", PROXY),
  ],
  "/nodes": [connect("proxy", "NodeProxyOptions", PROXY)],
  "/services": [connect("proxy", "ServiceProxyOptions", PROXY)],
  "/serviceaccounts": [special("token", ["create"], "TokenRequest", "authentication.k8s.io", "v1")],
};

/** In order of their names. */
export function subresourcesOf({ kind, stored }: ServedResource): readonly SubresourceRoute[] {
  const own: SubresourceRoute[] = Object.keys(stored.kind.subresources ?? {}).map((name) => ({
    name,
    verbs: name === "finalize" ? ["update"] : READ_WRITE,
    kind: { group: "", version: "", kind: kind.names.kind },
    how: "object",
  }));
  const scale: SubresourceRoute[] =
    kind.scale === undefined
      ? []
      : [
          {
            name: "scale",
            verbs: READ_WRITE,
            kind: { group: "autoscaling", version: "v1", kind: "Scale" },
            how: "scale",
          },
        ];
  const others = SPECIAL[`${kind.group}/${kind.names.plural}`] ?? [];
  return [...own, ...scale, ...others].sort((a, b) => (a.name < b.name ? -1 : 1));
}

export function findSubresource(
  resource: ServedResource,
  name: string,
): SubresourceRoute | undefined {
  return subresourcesOf(resource).find((route) => route.name === name);
}

function connect(name: string, kind: string, verbs: readonly string[]): SubresourceRoute {
  return { name, verbs, kind: { group: "", version: "", kind }, how: "connect" };
}

function special(
  name: string,
  verbs: readonly string[],
  kind: string,
  group = "",
  version = "",
): SubresourceRoute {
  return { name, verbs, kind: { group, version, kind }, how: "special" };
}
