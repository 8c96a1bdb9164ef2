/** emptyDir: a folder that lives as long as the pod, on disk or in memory. */
import { chmod, mkdir } from "node:fs/promises";
import { quantityOf, quantityValue } from "#api/meta/quantity.ts";
import { isMountPoint, mountTmpfs } from "#host/mounts.ts";
import type { VolumePlugin } from "./volume-plugin.ts";

export const emptyDirVolume: VolumePlugin = {
  name: "kubernetes.io/empty-dir",
  accepts: ({ volume }) => volume.emptyDir !== undefined,
  async setUp({ volume, folder, pod, readOnly }) {
    const { medium = "", sizeLimit } = volume.emptyDir ?? {};
    const made = await mkdir(folder, { recursive: true });
    const isNewMount = medium === "Memory" && !(await isMountPoint(folder));
    if (isNewMount) {
      const limits = [sizeLimit, memoryLimitOf(pod)]
        .filter((text) => text !== undefined)
        .map((text) => quantityValue(quantityOf(text)))
        .filter((bytes) => bytes > 0);
      await mountTmpfs(folder, limits.length > 0 ? Math.min(...limits) : undefined);
    }
    // Later its mode is an affair of the pod: fsGroup and containers change it.
    if (made !== undefined || isNewMount) await chmod(folder, 0o777);
    return { hostPath: folder, readOnly };
  },
};

/** Memory that a volume holds counts for the pod: more than its limit makes no sense. */
function memoryLimitOf({ spec }: Parameters<VolumePlugin["setUp"]>[0]["pod"]): string | undefined {
  return spec.resources?.limits?.memory;
}
