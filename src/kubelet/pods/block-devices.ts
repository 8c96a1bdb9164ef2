/** volumeDevices: block volumes as devices of a container. */
import type { Container } from "#api/generated/core.v1.ts";
import type { Device } from "#kubelet/cri/container-messages.ts";
import type { MountedVolume } from "#kubelet/volumes/volume-plugin.ts";
import { MountError } from "./container-mounts.ts";

export function blockDevices(
  { name: containerName, volumeDevices = [] }: Container,
  volumes: ReadonlyMap<string, MountedVolume>,
): readonly Device[] {
  return volumeDevices.map(({ name, devicePath }) => {
    const volume = volumes.get(name);
    if (volume === undefined) {
      throw new MountError(
        `cannot find volume "${name}" to pass into container "${containerName}"`,
      );
    }
    const { hostPath, readOnly } = volume;
    return { containerPath: devicePath, hostPath, permissions: readOnly ? "r" : "mrw" };
  });
}
