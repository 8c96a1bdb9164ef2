/** Keeps a claim that is deleted until no pod on a node uses it any more. */

import type { PersistentVolumeClaim, Pod } from "#api/generated/core.v1.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import {
  type Caches,
  defineController,
  type Key,
  ownKey,
  type Reader,
} from "#runtime/controller.ts";
import { isHeld, type Protected, protect } from "./finalizer.ts";
import { claimId, claimKeysOf, ephemeralClaimName, isOwnClaim, podsByClaim } from "./pod-claims.ts";

const FINALIZER = "kubernetes.io/pvc-protection";

type State = Protected<PersistentVolumeClaim> | undefined;

export const claimProtection = defineController<State>({
  name: "persistentvolumeclaim-protection-controller",
  rule: "a claim is protected while a pod uses it",
  feeds: [
    { kind: persistentVolumeClaimKind, keys: ownKey },
    { kind: podKind, keys: claimKeysOf },
  ],
  indexes: [podsByClaim],
  observe,
  decide: (state) => protect(persistentVolumeClaimKind, FINALIZER, state),
});

async function observe(caches: Caches, { namespace, name }: Key, reader: Reader): Promise<State> {
  const object = caches(persistentVolumeClaimKind).get(namespace, name);
  if (object === undefined) return undefined;
  if (!isHeld(object, FINALIZER)) return { object, used: false };
  const known = [...caches(podKind).byIndex(podsByClaim.name, claimId(namespace, name))];
  if (known.some((pod) => usesClaim(pod, object))) return { object, used: true };
  // The cache may not know of a pod that was just made: losing data is worse than a request.
  const pods = await reader.list(podKind, namespace === undefined ? {} : { namespace });
  if (!pods.ok) throw new Error(`live list of pods failed: ${pods.status.message ?? ""}`);
  return { object, used: pods.value.items.some((pod) => usesClaim(pod, object)) };
}

/** Only pods on a node count: a kubelet starts none with a claim that is being deleted. */
export function usesClaim(pod: Pod, claim: PersistentVolumeClaim): boolean {
  if (!pod.spec.nodeName) return false;
  return (pod.spec.volumes ?? []).some((volume) => {
    if (volume.persistentVolumeClaim?.claimName === claim.metadata.name) return true;
    if (volume.ephemeral === undefined || isShutDown(pod)) return false;
    return ephemeralClaimName(pod, volume) === claim.metadata.name && isOwnClaim(pod, claim);
  });
}

/** The kubelet is done with it, or it was deleted by force; only finalizers of others hold it. */
function isShutDown({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.deletionGracePeriodSeconds === 0;
}
