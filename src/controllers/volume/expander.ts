/**
 * Notices that a bound claim requests more storage. No in-tree volume plug-in that is left can expand
 * volumes, so it records which external resizer is waited for.
 */

import type { PersistentVolume, PersistentVolumeClaim } from "#api/generated/core.v1.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { compareQuantities, quantityOf } from "#api/meta/quantity.ts";
import {
  type Change,
  defineController,
  idle,
  type Key,
  type Outcome,
  ownKey,
  readOnly,
} from "#runtime/controller.ts";

const PRE_RESIZE_CAPACITY = "volume.alpha.kubernetes.io/pre-resize-capacity";

export interface ExpansionState {
  readonly claim: PersistentVolumeClaim;
  readonly volume: PersistentVolume | undefined;
}

export const volumeExpander = defineController<ExpansionState | undefined>({
  name: "persistentvolume-expander-controller",
  rule: "a claim that asks for more than its volume has waits for expansion",
  component: "volume_expand",
  feeds: [
    { kind: persistentVolumeClaimKind, keys: keysOfClaim, keysOfChange },
    readOnly(persistentVolumeKind),
  ],
  observe(caches, { namespace, name }) {
    const claim = caches(persistentVolumeClaimKind).get(namespace, name);
    if (claim === undefined) return undefined;
    return {
      claim,
      volume: caches(persistentVolumeKind).get(undefined, claim.spec.volumeName ?? ""),
    };
  },
  decide: (state) => (state === undefined ? idle : decide(state)),
});

export function decide({ claim, volume }: ExpansionState): Outcome {
  const { uid, namespace } = claim.metadata;
  const claimRef = volume?.spec.claimRef;
  if (volume === undefined || claimRef?.uid !== uid || claimRef?.namespace !== namespace) {
    return idle;
  }
  const resizing = volume.metadata.annotations?.[PRE_RESIZE_CAPACITY] !== undefined;
  if (
    !resizing &&
    !isLarger(claim.spec.resources.requests?.storage, claim.status.capacity?.storage)
  )
    return idle;
  return {
    events: [
      {
        about: claim,
        type: "Normal",
        reason: "ExternalExpanding",
        message: "waiting for an external controller to expand this PVC",
      },
    ],
  };
}

function keysOfClaim(claim: PersistentVolumeClaim): readonly Key[] {
  return claim.status.phase === "Bound" ? ownKey(claim) : [];
}

/** Queues a claim once for each larger request. */
function keysOfChange({ next, old }: Change<PersistentVolumeClaim>): readonly Key[] {
  if (next === undefined) return [];
  const asked = next.spec.resources.requests?.storage;
  const before = old?.spec.resources.requests?.storage;
  return old === undefined || isLarger(asked, before) ? keysOfClaim(next) : [];
}

function isLarger(size: string | undefined, than: string | undefined): boolean {
  return compareQuantities(quantityOf(size ?? "0"), quantityOf(than ?? "0")) > 0;
}
