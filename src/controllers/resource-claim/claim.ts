/** Frees a claim of pods that are gone or done, and deletes one that was made for such a pod. */
import type { Pod } from "#api/generated/core.v1.ts";
import type { ResourceClaim, ResourceClaimStatus } from "#api/generated/resource.v1.ts";
import { resourceClaimKind } from "#api/kinds/resource/v1/resource-claim.ts";
import type { Outcome } from "#runtime/controller.ts";
import { patch, remove, updateStatus, type Write } from "#runtime/writes.ts";
import { isDone, ownerOf } from "./pod.ts";

/** The scheduler's, who allocates; taken away with the allocation. */
const FINALIZER = "resource.kubernetes.io/delete-protection";

export interface ClaimState {
  readonly claim: ResourceClaim;
  /** Pods by uid that use the claim and are there. */
  readonly consumers: ReadonlyMap<string, Pod>;
  /** The pod of the name for which the claim was made. */
  readonly owner: Pod | undefined;
}

export function decideClaim({ claim, consumers, owner }: ClaimState): Outcome {
  const { reservedFor = [] } = claim.status;
  const remaining = reservedFor.filter(({ apiGroup, resource, uid }) => {
    if (apiGroup || resource !== "pods") return true;
    const pod = consumers.get(uid);
    return pod !== undefined && !isDone(pod);
  });
  const isFree = remaining.length === 0;
  const writes = [
    ...free(claim, remaining, remaining.length < reservedFor.length),
    ...(isFree && isStale(claim, owner) ? [remove(resourceClaimKind, claim)] : []),
  ];
  return { writes };
}

function free(
  claim: ResourceClaim,
  remaining: NonNullable<ResourceClaimStatus["reservedFor"]>,
  changed: boolean,
): readonly Write[] {
  const { finalizers = [], deletionTimestamp } = claim.metadata;
  const isOurs = finalizers.includes(FINALIZER);
  const deallocates =
    isOurs && remaining.length === 0 && (changed || deletionTimestamp !== undefined);
  const { allocation, reservedFor: _, ...rest } = claim.status;
  const kept = deallocates || allocation === undefined ? {} : { allocation };
  const reserved = remaining.length === 0 ? {} : { reservedFor: remaining };
  const status = { ...rest, ...kept, ...reserved };
  const rewrites = changed || (deallocates && allocation !== undefined);
  const metadata = { finalizers: finalizers.filter((name) => name !== FINALIZER) };
  return [
    ...(rewrites ? [updateStatus(resourceClaimKind, { ...claim, status })] : []),
    ...(deallocates ? [patch(resourceClaimKind, claim, "merge", { metadata })] : []),
  ];
}

/** A pod that is not there at all is the garbage collector's business. */
function isStale(claim: ResourceClaim, owner: Pod | undefined): boolean {
  if (owner === undefined || claim.metadata.deletionTimestamp !== undefined) return false;
  return owner.metadata.uid !== ownerOf(claim)?.uid || isDone(owner);
}
