/** nfs: an exported folder of another machine. */
import { mkdir } from "node:fs/promises";
import { isMountPoint, mountFs } from "#host/mounts.ts";
import type { VolumePlugin } from "./volume-plugin.ts";

export const nfsVolume: VolumePlugin = {
  name: "kubernetes.io/nfs",
  accepts: ({ volume, persistentVolume }) =>
    volume.nfs !== undefined || persistentVolume?.spec.nfs !== undefined,
  async setUp({ volume, persistentVolume, folder, readOnly }) {
    const nfs = volume.nfs ?? persistentVolume?.spec.nfs;
    const isReadOnly = readOnly || (nfs?.readOnly ?? false);
    await mkdir(folder, { recursive: true });
    if (!(await isMountPoint(folder))) {
      const options = [
        ...(persistentVolume?.spec.mountOptions ?? []),
        ...(isReadOnly ? ["ro"] : []),
      ];
      await mountFs("nfs", `${nfs?.server ?? ""}:${nfs?.path ?? ""}`, folder, options);
    }
    return { hostPath: folder, readOnly: isReadOnly };
  },
};
