/** NodeGetVolumeStats: how full a CSI volume is. */
import type { VolumeStats } from "#kubelet/volumes/volume-stats.ts";
import type { CsiDriver } from "./csi-drivers.ts";
import { csiNodeMethods, NODE_CAPABILITY } from "./csi-messages.ts";

/** VolumeUsage.Unit */
const [BYTES, INODES] = [1, 2];

/** Undefined for drivers without GET_VOLUME_STATS. */
export async function csiVolumeStats(
  driver: CsiDriver,
  request: { readonly volumeId: string; readonly volumePath: string },
): Promise<VolumeStats | undefined> {
  if (!(await driver.can(NODE_CAPABILITY.GET_VOLUME_STATS))) return undefined;
  const { usage, volumeCondition } = await driver.call(csiNodeMethods.volumeStats, request);
  const bytes = usage.find(({ unit }) => unit === BYTES);
  const inodes = usage.find(({ unit }) => unit === INODES);
  return {
    availableBytes: bytes?.available ?? 0,
    capacityBytes: bytes?.total ?? 0,
    usedBytes: bytes?.used ?? 0,
    inodesFree: inodes?.available ?? 0,
    inodes: inodes?.total ?? 0,
    inodesUsed: inodes?.used ?? 0,
    ...(volumeCondition === undefined
      ? {}
      : { volumeHealthStats: { abnormal: volumeCondition.abnormal } }),
  };
}
