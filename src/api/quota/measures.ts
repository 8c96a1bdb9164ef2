/**
 * How quota measures objects: which of a quota's resources a kind of object uses, how much of each,
 * and which scopes it falls into. Admission charges with it, the quota controller counts with it.
 */
import type { ResourceQuota, ScopedResourceSelectorRequirement } from "#api/generated/core.v1.ts";
import type { Kind, KubeObject } from "#api/kind.ts";
import type { Measure } from "./measure.ts";
import { objectCount } from "./object-count.ts";

type Measured = Pick<Kind, "group" | "names" | "quota" | "transient">;

/** Undefined for what quota does not count. Most objects count as one. */
export function measureOf({ group, names, quota, transient }: Measured): Measure | undefined {
  if (quota === "none" || transient) return undefined;
  return quota ?? objectCount(group, names.plural);
}

/** All of a quota's scopes: the old list and the selector. */
export function scopesOf({ spec }: ResourceQuota): ScopedResourceSelectorRequirement[] {
  return [
    ...(spec.scopes ?? []).map((scopeName) => ({ scopeName, operator: "Exists" })),
    ...(spec.scopeSelector?.matchExpressions ?? []),
  ];
}

export function isInAllScopes(measure: Measure, quota: ResourceQuota, object: KubeObject): boolean {
  return scopesOf(quota).every((scope) => measure.inScope(object, scope));
}
