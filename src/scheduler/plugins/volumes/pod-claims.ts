/** The PersistentVolumeClaims that a pod's volumes name, those of generic ephemeral volumes too. */
import type { PersistentVolumeClaim, Pod } from "#api/generated/core.v1.ts";
import type { ClusterObjects } from "#scheduler/snapshot/cluster-objects.ts";

export interface ClaimRef {
  readonly name: string;
  readonly isEphemeral: boolean;
}

export function claimRefsOf({ metadata, spec }: Pod): readonly ClaimRef[] {
  if ((spec.volumes ?? []).length === 0) return NONE;
  return (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }): ClaimRef[] => {
    if (persistentVolumeClaim !== undefined) {
      return [{ name: persistentVolumeClaim.claimName, isEphemeral: false }];
    }
    return ephemeral === undefined ? [] : [{ name: `${metadata.name}-${name}`, isEphemeral: true }];
  });
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
    const { deletionTimestamp, ownerReferences = [] } = claim.metadata;
    if (claim.status?.phase === "Lost") {
      const volume = claim.spec.volumeName ?? "";
      const reason = `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${volume}"`;
      return { ok: false, reason };
    }
    if (deletionTimestamp !== undefined) {
      return { ok: false, reason: `persistentvolumeclaim "${name}" is being deleted` };
    }
    const isOwned = ownerReferences.some(
      ({ controller, uid }) => controller === true && uid === pod.metadata.uid,
    );
    if (isEphemeral && !isOwned) {
      const { namespace } = pod.metadata;
      const reason = `PVC ${namespace}/${name} was not created for pod ${namespace}/${pod.metadata.name} (pod is not owner)`;
      return { ok: false, reason };
    }
    found.push(claim);
  }
  return { ok: true, claims: found };
}

export function usesClaim(
  pod: Pod,
  namespace: string | undefined,
  name: string | undefined,
): boolean {
  if (pod.metadata.namespace !== namespace) return false;
  return claimRefsOf(pod).some((ref) => ref.name === name);
}

const CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class";

export function classNameOf({ metadata, spec }: PersistentVolumeClaim): string {
  return metadata.annotations?.[CLASS_ANNOTATION] ?? spec.storageClassName ?? "";
}
