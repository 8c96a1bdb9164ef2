/** Keeps a volume that is deleted as long as it is bound to a claim. */

import type { PersistentVolume } from "#api/generated/core.v1.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { defineController, ownKey } from "#runtime/controller.ts";
import { type Protected, protect } from "./finalizer.ts";

const FINALIZER = "kubernetes.io/pv-protection";

export const volumeProtection = defineController<Protected<PersistentVolume> | undefined>({
  name: "persistentvolume-protection-controller",
  rule: "a volume is protected while it is bound",
  feeds: [{ kind: persistentVolumeKind, keys: ownKey }],
  observe(caches, { name }) {
    const object = caches(persistentVolumeKind).get(undefined, name);
    return object && { object, used: object.status.phase === "Bound" };
  },
  decide: (state) => protect(persistentVolumeKind, FINALIZER, state),
});
