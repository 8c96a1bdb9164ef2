/** Which ResourceClaims a pod uses. */

import type { Pod, PodResourceClaim } from "#api/generated/core.v1.ts";
import type { ResourceClaim } from "#api/generated/resource.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import type { IndexSpec } from "#runtime/controller.ts";
import { isControlledBy } from "../shared/ownership.ts";

export const podsByResourceClaim: IndexSpec<Pod> = {
  kind: podKind,
  name: "resourceClaim",
  values: (pod) => claimNamesOf(pod).map((name) => `${pod.metadata.namespace}/${name}`),
};

/** Names of the claims of a pod, as far as they are known. */
export function claimNamesOf(pod: Pod): readonly string[] {
  return (pod.spec.resourceClaims ?? []).flatMap((entry) => claimNameOf(pod, entry) ?? []);
}

/** Those that are there; one that was made from a template counts only for whom it was made. */
export function claimsOf(
  pod: Pod,
  claims: ReadonlyMap<string, ResourceClaim>,
): readonly ResourceClaim[] {
  return (pod.spec.resourceClaims ?? []).flatMap((entry) => {
    const claim = claims.get(claimNameOf(pod, entry) ?? "");
    if (claim === undefined) return [];
    const isOwn = entry.resourceClaimTemplateName === undefined || isControlledBy(claim, pod);
    return isOwn ? [claim] : [];
  });
}

export function claimStatusOf({ status }: Pod, { name }: PodResourceClaim) {
  return status.resourceClaimStatuses?.find((entry) => entry.name === name);
}

function claimNameOf(pod: Pod, entry: PodResourceClaim): string | undefined {
  if (entry.resourceClaimName !== undefined) return entry.resourceClaimName;
  return claimStatusOf(pod, entry)?.resourceClaimName;
}
