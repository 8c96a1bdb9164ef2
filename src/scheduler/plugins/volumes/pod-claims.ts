/** The PersistentVolumeClaims that a pod's volumes name, those of generic ephemeral volumes too. */
import type { PersistentVolumeClaim, Pod, Volume } from "#api/generated/core.v1.ts";
import type { ClusterObjects } from "#scheduler/snapshot/cluster-objects.ts";

export interface ClaimRef {
  readonly name: string;
  readonly isEphemeral: boolean;
}

export function claimRefsOf(pod: Pod): readonly ClaimRef[] {
  const { volumes = [] } = pod.spec;
  return volumes.length === 0 ? NONE : volumes.flatMap((volume) => claimRefOf(pod, volume) ?? []);
}

/** The claim behind a volume of the pod, if it has one. */
export function claimRefOf(
  { metadata }: Pod,
  { name, persistentVolumeClaim, ephemeral }: Volume,
): ClaimRef | undefined {
  if (persistentVolumeClaim !== undefined) {
    return { name: persistentVolumeClaim.claimName, isEphemeral: false };
  }
  return ephemeral === undefined
    ? undefined
    : { name: `${metadata.name}-${name}`, isEphemeral: true };
}

const NONE: readonly ClaimRef[] = [];

export type FoundClaims =
  | { readonly ok: true; readonly claims: readonly PersistentVolumeClaim[] }
  | { readonly ok: false; readonly reason: string };

/** All claims of the pod, or why one of them cannot be used. */
export function claimsOf(pod: Pod, { claims }: Pick<ClusterObjects, "claims">): FoundClaims {
  const found: PersistentVolumeClaim[] = [];
  for (const { name, isEphemeral } of claimRefsOf(pod)) {
    const claim = claims.get(pod.metadata.namespace, name);
    if (claim === undefined) {
      const reason = isEphemeral
        ? `waiting for ephemeral volume controller to create the persistentvolumeclaim "${name}"`
        : `persistentvolumeclaim "${name}" not found`;
      return { ok: false, reason };
    }
    const { deletionTimestamp } = claim.metadata;
    if (claim.status?.phase === "Lost") {
      const volume = claim.spec.volumeName ?? "";
      const reason = `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${volume}"`;
      return { ok: false, reason };
    }
    if (deletionTimestamp !== undefined) {
      return { ok: false, reason: `persistentvolumeclaim "${name}" is being deleted` };
    }
    const problem = isEphemeral ? notOwnedBy(pod, claim) : undefined;
    if (problem !== undefined) return { ok: false, reason: problem };
    found.push(claim);
  }
  return { ok: true, claims: found };
}

/** What is wrong with the claim of an ephemeral volume that was not made for the pod. */
export function notOwnedBy({ metadata }: Pod, claim: PersistentVolumeClaim): string | undefined {
  const { namespace, name, ownerReferences = [] } = claim.metadata;
  const isOwned = ownerReferences.some(
    ({ controller, uid }) => controller === true && uid === metadata.uid,
  );
  if (isOwned) return undefined;
  return `PVC ${namespace}/${name} was not created for pod ${namespace}/${metadata.name} (pod is not owner)`;
}

export function usesClaim(
  pod: Pod,
  namespace: string | undefined,
  name: string | undefined,
): boolean {
  if (pod.metadata.namespace !== namespace) return false;
  return claimRefsOf(pod).some((ref) => ref.name === name);
}

/** The annotation of a claim with the node for which its volume is made. */
export const SELECTED_NODE = "volume.kubernetes.io/selected-node";

const BIND_COMPLETED = "pv.kubernetes.io/bind-completed";

/** Whether the volume controller has bound the claim and its volume to each other. */
export function isFullyBound({ metadata, spec }: PersistentVolumeClaim): boolean {
  return (spec.volumeName ?? "") !== "" && metadata.annotations?.[BIND_COMPLETED] !== undefined;
}

const CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class";

export function classNameOf({ metadata, spec }: PersistentVolumeClaim): string {
  return metadata.annotations?.[CLASS_ANNOTATION] ?? spec.storageClassName ?? "";
}
