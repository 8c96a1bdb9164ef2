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
import { TransportError } from "#client/transport.ts";
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

/**
 * The claims of pods as they were read last, by pod and volume: a volume that was set up once is there
 * for containers that start again while the API server is away, or is there but cannot answer yet.
 */
export class KnownClaims {
  readonly #claims = new Map<string, ClaimedVolume>();

  /** Undefined for volumes that have no claim. */
  async get(client: Client, pod: Pod, volume: Volume): Promise<ClaimedVolume | undefined> {
    const id = `${pod.metadata.uid ?? ""}/${volume.name}`;
    try {
      const claimed = await claimedVolume(client, pod, volume);
      if (claimed !== undefined) this.#claims.set(id, claimed);
      return claimed;
    } catch (error) {
      const known = this.#claims.get(id);
      if (known === undefined || !isServerAway(error)) throw error;
      return known;
    }
  }

  forget(uid: string): void {
    for (const id of this.#claims.keys()) if (id.startsWith(`${uid}/`)) this.#claims.delete(id);
  }
}

/** The server said nothing about the claim: it is not reached, starts, or has too much to do. */
class ServerBusy extends VolumeError {}

function isServerAway(error: unknown): boolean {
  return error instanceof TransportError || error instanceof ServerBusy;
}

function refusal(
  { code = 0, message = "" }: { readonly code?: number; readonly message?: string },
  prefix: string,
): VolumeError {
  const text = `${prefix}${message}`;
  return code >= 500 || code === 429 ? new ServerBusy(text) : new VolumeError(text);
}

/** Undefined for volumes that have no claim. */
async function claimedVolume(
  client: Client,
  pod: Pod,
  volume: Volume,
): Promise<ClaimedVolume | undefined> {
  const name = claimNameOf(pod, volume);
  if (name === undefined) return undefined;
  const namespace = pod.metadata.namespace ?? "";
  const found = await client.get(persistentVolumeClaimKind, { namespace, name });
  if (!found.ok) throw refusal(found.status, `error getting PVC ${namespace}/${name}: `);
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
  if (!bound.ok) throw refusal(bound.status, "");
  return {
    claim,
    persistentVolume: bound.value,
    readOnly: volume.persistentVolumeClaim?.readOnly ?? false,
  };
}
