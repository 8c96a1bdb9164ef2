/** Every sort of volume that the kubelet can set up. */
import { emptyDirVolume } from "./empty-dir.ts";
import { fileVolumes } from "./file-volumes.ts";
import { hostPathVolume, localVolume } from "./host-path.ts";
import { nfsVolume } from "./nfs.ts";
import type { VolumePlugin } from "./volume-plugin.ts";

export const volumePlugins: readonly VolumePlugin[] = [
  emptyDirVolume,
  hostPathVolume,
  localVolume,
  nfsVolume,
  ...fileVolumes,
];
