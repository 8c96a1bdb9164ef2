/** What device plug-ins give a container, put together from their answers. */
import { type Mount, PROPAGATION } from "#kubelet/cri/common-messages.ts";
import type { Device } from "#kubelet/cri/container-messages.ts";
import type { ContainerAllocateResponse } from "#kubelet/devices/device-messages.ts";

export interface PluginDevices {
  readonly env: ReadonlyMap<string, string>;
  readonly mounts: readonly Mount[];
  readonly devices: readonly Device[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly cdiDevices: readonly string[];
}

/** The first plug-in that names a variable, path or device wins, as in upstream. */
export function pluginDevices(answers: readonly ContainerAllocateResponse[]): PluginDevices {
  const env = new Map<string, string>();
  const mounts = new Map<string, Mount>();
  const devices = new Map<string, Device>();
  const annotations = new Map<string, string>();
  const cdiDevices = new Set<string>();
  for (const answer of answers) {
    for (const [name, value] of Object.entries(answer.envs)) addOnce(env, name, value);
    for (const { containerPath, hostPath, readOnly } of answer.mounts) {
      const mount = { containerPath, hostPath, readonly: readOnly };
      addOnce(mounts, containerPath, { ...mount, propagation: PROPAGATION.PRIVATE });
    }
    for (const device of answer.devices) addOnce(devices, device.containerPath, device);
    for (const [name, value] of Object.entries(answer.annotations)) {
      addOnce(annotations, name, value);
    }
    for (const { name } of answer.cdiDevices) cdiDevices.add(name);
  }
  return {
    env,
    mounts: [...mounts.values()],
    devices: [...devices.values()],
    annotations: Object.fromEntries(annotations),
    cdiDevices: [...cdiDevices],
  };
}

function addOnce<T>(into: Map<string, T>, key: string, value: T): void {
  if (!into.has(key)) into.set(key, value);
}
