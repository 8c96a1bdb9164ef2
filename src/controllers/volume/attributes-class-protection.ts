/** Keeps a VolumeAttributesClass that is deleted as long as a volume or a claim names it. */

import type { PersistentVolume, PersistentVolumeClaim } from "#api/generated/core.v1.ts";
import type { VolumeAttributesClass } from "#api/generated/storage.v1.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { volumeAttributesClassKind } from "#api/kinds/storage/v1/volume-attributes-class.ts";
import {
  type Caches,
  defineController,
  type IndexSpec,
  type Key,
  ownKey,
} from "#runtime/controller.ts";
import { type Protected, protect } from "./finalizer.ts";

const FINALIZER = "kubernetes.io/vac-protection";

const volumesByClass: IndexSpec<PersistentVolume> = {
  kind: persistentVolumeKind,
  name: "volumeAttributesClass",
  values: ({ spec }) => classNames(spec.volumeAttributesClassName),
};

const claimsByClass: IndexSpec<PersistentVolumeClaim> = {
  kind: persistentVolumeClaimKind,
  name: "volumeAttributesClass",
  values: ({ spec, status }) =>
    classNames(
      spec.volumeAttributesClassName,
      status.currentVolumeAttributesClassName,
      status.modifyVolumeStatus?.targetVolumeAttributesClassName,
    ),
};

export const attributesClassProtection = defineController<
  Protected<VolumeAttributesClass> | undefined
>({
  name: "volumeattributesclass-protection-controller",
  rule: "a class is protected while a volume or a claim uses it",
  feeds: [
    { kind: volumeAttributesClassKind, keys: ownKey },
    {
      kind: persistentVolumeKind,
      keys: (volume: PersistentVolume) => keys(volumesByClass, volume),
    },
    {
      kind: persistentVolumeClaimKind,
      keys: (claim: PersistentVolumeClaim) => keys(claimsByClass, claim),
    },
  ],
  indexes: [volumesByClass, claimsByClass],
  observe(caches, { name }) {
    const object = caches(volumeAttributesClassKind).get(undefined, name);
    return object && { object, used: isNamed(caches, name) };
  },
  decide: (state) => protect(volumeAttributesClassKind, FINALIZER, state),
});

function isNamed(caches: Caches, name: string): boolean {
  const volumes = caches(persistentVolumeKind).byIndex(volumesByClass.name, name);
  const claims = caches(persistentVolumeClaimKind).byIndex(claimsByClass.name, name);
  return [...volumes].length + [...claims].length > 0;
}

function keys<T extends PersistentVolume | PersistentVolumeClaim>(
  { values }: IndexSpec<T>,
  object: T,
): readonly Key[] {
  return values(object).map((name) => ({ name }));
}

function classNames(...names: readonly (string | undefined)[]): readonly string[] {
  return [...new Set(names.flatMap((name) => name || []))];
}
