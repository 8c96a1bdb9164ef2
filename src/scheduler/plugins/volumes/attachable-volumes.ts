/**
 * The volumes of a pod that CSI drivers attach to nodes, by a name that is unique in the cluster.
 * In-tree volumes count as volumes of the driver that took the place of their plugin.
 */
import type { PersistentVolumeClaim, Pod, Volume } from "#api/generated/core.v1.ts";
import {
  MIGRATED_DRIVERS,
  migratedPluginOf,
  translateInlineVolume,
  translatePersistentVolume,
} from "#api/kinds/core/v1/persistent-volume/csi-migration.ts";
import type { ClusterObjects } from "#scheduler/snapshot/cluster-objects.ts";
import { isTranslated } from "./migrated-volumes.ts";
import { claimRefOf, classNameOf, notOwnedBy } from "./pod-claims.ts";

/** Driver by volume. */
export type AttachableVolumes = ReadonlyMap<string, string>;

export type VolumeObjects = Pick<ClusterObjects, "claims" | "volumes" | "storageClasses">;

/** A claim of the pod does not exist. */
export class ClaimNotFound extends Error {
  override readonly name = "ClaimNotFound";
}

/** Whether the pod may have such volumes. */
export function mayAttachVolumes({ spec }: Pod): boolean {
  return (spec.volumes ?? []).some(
    (volume) =>
      volume.persistentVolumeClaim !== undefined ||
      volume.ephemeral !== undefined ||
      migratedPluginOf(volume) !== undefined,
  );
}

export interface AttachableOptions {
  /** Whether the node has a CSINode: without one, no in-tree plugin is migrated there. */
  readonly hasCsiNode: boolean;
  /** A pod that is to be scheduled needs its claims; those of other pods may have gone. */
  readonly isNew: boolean;
}

/** Throws if a volume cannot be identified, `ClaimNotFound` if that is because its claim is missing. */
export function attachableVolumes(
  pod: Pod,
  objects: VolumeObjects,
  { hasCsiNode, isNew }: AttachableOptions,
): AttachableVolumes {
  const found = new Map<string, string>();
  const { namespace } = pod.metadata;
  for (const volume of pod.spec.volumes ?? []) {
    const ref = claimRefOf(pod, volume);
    let csi: CsiId | undefined;
    if (ref === undefined) csi = hasCsiNode ? inlineVolume(volume) : undefined;
    else {
      const claim = objects.claims.get(namespace, ref.name);
      if (claim === undefined) {
        if (!isNew) continue;
        const why = `persistentvolumeclaim "${ref.name}" not found`;
        throw new ClaimNotFound(`looking up PVC ${namespace}/${ref.name}: ${why}`);
      }
      const problem = ref.isEphemeral ? notOwnedBy(pod, claim) : undefined;
      if (problem !== undefined) throw new Error(problem);
      csi = claimedVolume(claim, objects, hasCsiNode);
    }
    if (csi === undefined || csi.driver === "" || csi.volumeHandle === "") continue;
    found.set(uniqueName(csi.driver, csi.volumeHandle), csi.driver);
  }
  return found;
}

export function uniqueName(driver: string, volumeHandle: string): string {
  return `${driver}/${volumeHandle}`;
}

interface CsiId {
  readonly driver: string;
  readonly volumeHandle: string;
}

function inlineVolume(volume: Volume): CsiId | undefined {
  const plugin = migratedPluginOf(volume);
  if (plugin === undefined || !isTranslated(plugin)) return undefined;
  const result = translateInlineVolume(volume);
  if (result.ok) return result.volume;
  throw new Error(`converting volume(${volume.name}) from inline to csi: ${result.error}`);
}

function claimedVolume(
  claim: PersistentVolumeClaim,
  { volumes, storageClasses }: VolumeObjects,
  hasCsiNode: boolean,
): CsiId | undefined {
  const volume = volumes.get(undefined, claim.spec.volumeName ?? "");
  if (volume !== undefined) {
    const { csi } = volume.spec;
    if (csi !== undefined) return csi;
    const plugin = migratedPluginOf(volume.spec);
    if (plugin === undefined || !isTranslated(plugin) || !hasCsiNode) return undefined;
    const result = translatePersistentVolume(volume);
    return result.ok ? result.volume : undefined;
  }
  const storageClass = storageClasses.get(undefined, classNameOf(claim));
  if (storageClass === undefined) return undefined;
  const { provisioner } = storageClass;
  // A volume that does not exist yet counts under the name of its claim.
  const { namespace, name } = claim.metadata;
  const volumeHandle = `unprovisioned-${namespace}/${name}`;
  const driver = MIGRATED_DRIVERS.get(provisioner);
  if (driver === undefined) return { driver: provisioner, volumeHandle };
  return isTranslated(provisioner) && hasCsiNode ? { driver, volumeHandle } : undefined;
}
