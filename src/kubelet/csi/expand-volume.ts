/** Expansion on the node: the driver grows the file system, the claim's status says so. */
import type { PersistentVolume, PersistentVolumeClaim } from "#api/generated/core.v1.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { compareQuantities, quantityOf, quantityValue } from "#api/meta/quantity.ts";
import type { Client } from "#client/client.ts";
import { VolumeError } from "#kubelet/volumes/volume-plugin.ts";
import type { CsiDriver } from "./csi-drivers.ts";
import { csiNodeMethods, type VolumeCapability } from "./csi-messages.ts";
import { rpcError } from "./rpc-error.ts";
import { readSecret } from "./secrets.ts";

export interface Expansion {
  readonly client: Client;
  readonly driver: CsiDriver;
  readonly claim: PersistentVolumeClaim;
  readonly persistentVolume: PersistentVolume;
  readonly capability: VolumeCapability;
  readonly handle: string;
  readonly stagingPath: string;
  readonly path: string;
}

/** The volume is larger than its claim says, so the driver grew it and the node has to follow. */
function wantsExpansion({ status }: PersistentVolumeClaim, { spec }: PersistentVolume): boolean {
  const has = status?.capacity?.storage;
  const wanted = spec.capacity?.storage;
  if (has === undefined || wanted === undefined) return false;
  return compareQuantities(quantityOf(wanted), quantityOf(has)) > 0;
}

export async function expandIfWanted(expansion: Expansion): Promise<void> {
  const { client, driver, claim, persistentVolume, capability } = expansion;
  if (!wantsExpansion(claim, persistentVolume)) return;
  const size = persistentVolume.spec.capacity?.storage ?? "0";
  const ref = persistentVolume.spec.csi?.nodeExpandSecretRef;
  const secrets = await readSecret(client, ref, "NodeExpandSecretRef");
  await rpcError(
    driver.call(csiNodeMethods.expand, {
      volumeId: expansion.handle,
      volumePath: expansion.path,
      capacityRange: { requiredBytes: quantityValue(quantityOf(size)) },
      stagingTargetPath: expansion.stagingPath,
      ...{ volumeCapability: capability, secrets },
    }),
    "MountVolume.NodeExpandVolume",
  );
  const { namespace = "", name = "" } = claim.metadata;
  const conditions = (claim.status?.conditions ?? []).filter(
    ({ type }) => type === "FileSystemResizePending" || type === "Resizing",
  );
  const status = {
    capacity: { storage: size },
    allocatedResourceStatuses: null,
    ...(conditions.length === 0
      ? {}
      : { conditions: conditions.map(({ type }) => ({ $patch: "delete", type })) }),
  };
  const answer = await client.patch(
    persistentVolumeClaimKind,
    { namespace, name },
    "strategic",
    { status },
    { subresource: "status" },
  );
  if (!answer.ok) {
    throw new VolumeError(answer.status.message ?? "", "MountVolume.NodeExpandVolume");
  }
}
