/** Which changes of ResourceClaims are a reason to try a pod again. */
import { isDeepStrictEqual } from "node:util";
import type { ResourceClaim } from "#api/generated/resource.v1.ts";
import type { AnyWakeRule } from "#scheduler/plugin.ts";
import type { ClusterObjects } from "#scheduler/snapshot/cluster-objects.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import { PODS_BY_RESOURCE_CLAIM, resourceClaimsOf } from "./pod-resource-claims.ts";

export function claimWakeRules(
  objects: Pick<ClusterObjects, "pods" | "resourceClaims">,
): readonly AnyWakeRule[] {
  const uses = ({ pod }: PodInfo, { metadata }: ResourceClaim): boolean => {
    const found = resourceClaimsOf(pod, objects);
    return found.ok && found.claims.some((claim) => claim.metadata.uid === metadata.uid);
  };
  const hasAllClaims = ({ pod }: PodInfo): boolean => resourceClaimsOf(pod, objects).ok;
  const users = function* ({ metadata }: ResourceClaim): Iterable<string> {
    const key = `${metadata.namespace}/${metadata.name}`;
    for (const pod of objects.pods.byIndex(PODS_BY_RESOURCE_CLAIM, key)) {
      yield pod.metadata.uid ?? "";
    }
  };
  return [
    { event: "own-claims-changed", wakes: hasAllClaims },
    { event: "resource-claim-added", affects: users, wakes: uses },
    {
      event: "resource-claim-changed",
      // The devices of a claim that is deallocated are free for any pod.
      affects: (next, old) => (isDeallocation(next, old) ? undefined : users(next)),
      wakes: (pod, next, old) =>
        isDeallocation(next, old)
          ? hasAllClaims(pod)
          : !isDeepStrictEqual(next.status, old?.status) && uses(pod, next),
    },
    {
      event: "resource-claim-deleted",
      affects: ({ status }) => (status?.allocation === undefined ? [] : undefined),
      wakes: (_pod, { status }) => status?.allocation !== undefined,
    },
  ];
}

function isDeallocation(next: ResourceClaim, old: ResourceClaim | undefined): boolean {
  return old?.status?.allocation !== undefined && next.status?.allocation === undefined;
}
