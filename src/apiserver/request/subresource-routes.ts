/**
 * Which subresources a resource has, with which verbs, and what kind of object they take: the facts
 * that routing and discovery share.
 */
import { builtInSchema } from "#api/schema/from-facts.ts";
import type { SubresourceRoute } from "#api/subresource-route.ts";
import type { ServedResource } from "../storage/resources.ts";

const READ_WRITE = ["get", "patch", "update"];

const SCALE: SubresourceRoute = {
  name: "scale",
  verbs: READ_WRITE,
  kind: { group: "autoscaling", version: "v1", kind: "Scale" },
  how: "scale",
  schema: builtInSchema("autoscaling.v1.Scale"),
};

/** In order of their names. */
export function subresourcesOf(resource: ServedResource): readonly SubresourceRoute[] {
  return routesOf(resource).sort((a, b) => (a.name < b.name ? -1 : 1));
}

export function findSubresource(
  resource: ServedResource,
  name: string,
): SubresourceRoute | undefined {
  return routesOf(resource).find((route) => route.name === name);
}

function routesOf({ kind, stored }: ServedResource): SubresourceRoute[] {
  const own: SubresourceRoute[] = Object.keys(stored.kind.subresources ?? {}).map((name) => ({
    name,
    verbs: name === "finalize" ? ["update"] : READ_WRITE,
    kind: { group: "", version: "", kind: kind.names.kind },
    how: "object",
  }));
  const scale = kind.scale === undefined ? [] : [SCALE];
  const others = kind.extraSubresources ?? [];
  return [...own, ...scale, ...others];
}
