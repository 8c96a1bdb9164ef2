/** The folder of a volume that the kubelet fills or leaves to the pod, on disk or in memory. */
import { chmod, mkdir } from "node:fs/promises";
import { isMountPoint, mountTmpfs } from "#host/mounts.ts";

export interface VolumeFolderOptions {
  readonly inMemory: boolean;
  readonly sizeBytes?: number | undefined;
}

/**
 * Every user may write to a new folder. On disk its mode is 0777; in memory it is the kernel's for tmpfs,
 * 1777, so that users may remove only their own files, as with upstream's kubelet. Later the mode is an
 * affair of the pod: fsGroup and containers change it.
 */
export async function makeVolumeFolder(
  folder: string,
  { inMemory, sizeBytes }: VolumeFolderOptions,
): Promise<void> {
  const made = await mkdir(folder, { recursive: true });
  if (!inMemory) {
    if (made !== undefined) await chmod(folder, 0o777);
  } else if (!(await isMountPoint(folder))) {
    await mountTmpfs(folder, sizeBytes);
  }
}
