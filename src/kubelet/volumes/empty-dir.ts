/** emptyDir: a folder that lives as long as the pod, on disk or in memory. */
import { quantityOf, quantityValue } from "#api/meta/quantity.ts";
import { makeVolumeFolder } from "./volume-folder.ts";
import type { VolumePlugin } from "./volume-plugin.ts";

export const emptyDirVolume: VolumePlugin = {
  name: "kubernetes.io/empty-dir",
  accepts: ({ volume }) => volume.emptyDir !== undefined,
  async setUp({ volume, folder, pod, readOnly }) {
    const { medium = "", sizeLimit } = volume.emptyDir ?? {};
    const limits = [sizeLimit, memoryLimitOf(pod)]
      .filter((text) => text !== undefined)
      .map((text) => quantityValue(quantityOf(text)))
      .filter((bytes) => bytes > 0);
    const sizeBytes = limits.length > 0 ? Math.min(...limits) : undefined;
    await makeVolumeFolder(folder, { inMemory: medium === "Memory", sizeBytes });
    return { hostPath: folder, readOnly };
  },
};

/** Memory that a volume holds counts for the pod: more than its limit makes no sense. */
function memoryLimitOf({ spec }: Parameters<VolumePlugin["setUp"]>[0]["pod"]): string | undefined {
  return spec.resources?.limits?.memory;
}
