/** The ResourceClaims that a pod names, directly or by templates. */
import type { Pod } from "#api/generated/core.v1.ts";
import type { ResourceClaim } from "#api/generated/resource.v1.ts";
import type { ClusterObjects } from "#scheduler/snapshot/cluster-objects.ts";

export type FoundResourceClaims =
  | { readonly ok: true; readonly claims: readonly ResourceClaim[] }
  | { readonly ok: false; readonly reason: string };

export function resourceClaimsOf(
  { metadata, spec, status }: Pod,
  { resourceClaims }: Pick<ClusterObjects, "resourceClaims">,
): FoundResourceClaims {
  const claims: ResourceClaim[] = [];
  const created = new Map((status?.resourceClaimStatuses ?? []).map((one) => [one.name, one]));
  for (const { name, resourceClaimName, resourceClaimTemplateName } of spec.resourceClaims ?? []) {
    const claimName = resourceClaimName ?? created.get(name)?.resourceClaimName;
    if (claimName === undefined) {
      if (created.has(name)) continue; // its template needs no claim for this pod
      const pod = `${metadata.namespace}/${metadata.name}`;
      return { ok: false, reason: `pod "${pod}": ResourceClaim not created yet` };
    }
    const claim = resourceClaims.get(metadata.namespace, claimName);
    if (claim === undefined) {
      return { ok: false, reason: `resourceclaim.resource.k8s.io "${claimName}" not found` };
    }
    if (claim.metadata.deletionTimestamp !== undefined) {
      return { ok: false, reason: `resourceclaim "${claimName}" is being deleted` };
    }
    const isOwned = (claim.metadata.ownerReferences ?? []).some(
      ({ uid, controller }) => controller === true && uid === metadata.uid,
    );
    if (resourceClaimTemplateName !== undefined && !isOwned) {
      const text = `ResourceClaim ${metadata.namespace}/${claimName} was not created for pod ${metadata.namespace}/${metadata.name} (pod is not owner)`;
      return { ok: false, reason: text };
    }
    claims.push(claim);
  }
  return { ok: true, claims };
}

/** The name of the index of pods by the ResourceClaims that they use, as NAMESPACE/NAME. */
export const PODS_BY_RESOURCE_CLAIM = "resource-claim";

const NO_CLAIMS: readonly string[] = [];

export function resourceClaimKeysOf({ metadata, spec, status }: Pod): readonly string[] {
  if (spec.resourceClaims === undefined || spec.resourceClaims.length === 0) return NO_CLAIMS;
  return spec.resourceClaims.flatMap(({ name, resourceClaimName }) => {
    const claim =
      resourceClaimName ??
      status?.resourceClaimStatuses?.find((one) => one.name === name)?.resourceClaimName;
    return claim === undefined ? [] : [`${metadata.namespace}/${claim}`];
  });
}

/** Whether the pod may use an allocated claim: it is reserved for it. */
export function isReservedFor({ metadata }: Pod, { status }: ResourceClaim): boolean {
  return (status?.reservedFor ?? []).some(({ uid }) => uid === metadata.uid);
}
