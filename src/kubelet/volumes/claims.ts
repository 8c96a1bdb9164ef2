/** From a volume that names a claim to the persistent volume behind it. */
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Volume,
} from "#api/generated/core.v1.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import type { Client } from "#client/client.ts";
import { VolumeError } from "./volume-plugin.ts";

export interface ClaimedVolume {
  readonly claim: PersistentVolumeClaim;
  readonly persistentVolume: PersistentVolume;
  readonly readOnly: boolean;
}

function claimNameOf(pod: Pod, volume: Volume): string | undefined {
  if (volume.persistentVolumeClaim) return volume.persistentVolumeClaim.claimName;
  return volume.ephemeral ? `${pod.metadata.name ?? ""}-${volume.name}` : undefined;
}

/** Undefined for volumes that have no claim. */
export async function claimedVolume(
  client: Client,
  pod: Pod,
  volume: Volume,
): Promise<ClaimedVolume | undefined> {
  const name = claimNameOf(pod, volume);
  if (name === undefined) return undefined;
  const namespace = pod.metadata.namespace ?? "";
  const found = await client.get(persistentVolumeClaimKind, { namespace, name });
  if (!found.ok) {
    throw new VolumeError(`error getting PVC ${namespace}/${name}: ${found.status.message ?? ""}`);
  }
  const claim = found.value;
  if (claim.metadata.deletionTimestamp !== undefined) {
    throw new VolumeError(`can't start pod because PVC "${name}" is being deleted`);
  }
  const volumeName = claim.spec.volumeName ?? "";
  if (claim.status?.phase !== "Bound" || volumeName === "") {
    throw new VolumeError(`PVC "${namespace}/${name}" is not bound`);
  }
  const isOwned = claim.metadata.ownerReferences?.some(({ uid }) => uid === pod.metadata.uid);
  if (volume.ephemeral && !isOwned) {
    throw new VolumeError(`PVC ${namespace}/${name} was not created for pod`);
  }
  const bound = await client.get(persistentVolumeKind, { name: volumeName });
  if (!bound.ok) throw new VolumeError(bound.status.message ?? `no PV ${volumeName}`);
  return {
    claim,
    persistentVolume: bound.value,
    readOnly: volume.persistentVolumeClaim?.readOnly ?? false,
  };
}
