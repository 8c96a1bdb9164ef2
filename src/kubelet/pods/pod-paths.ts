/** Where the kubelet keeps what belongs to a pod; upstream's layout. */
import { join } from "node:path";
import type { Pod } from "#api/generated/core.v1.ts";

export interface PodPaths {
  /** `/var/lib/kubelet` */
  readonly root: string;
  /** `/var/log/pods` */
  readonly logs: string;
}

export function podFolder({ root }: PodPaths, uid: string): string {
  return join(root, "pods", uid);
}

export function volumesFolder(paths: PodPaths, uid: string): string {
  return join(podFolder(paths, uid), "volumes");
}

/** Of block volumes. */
export function volumeDevicesFolder(paths: PodPaths, uid: string): string {
  return join(podFolder(paths, uid), "volumeDevices");
}

/** `kubernetes.io/configmap` is `kubernetes.io~configmap` in a path. */
export function pluginFolder(plugin: string): string {
  return plugin.replace("/", "~");
}

export function volumeFolder(paths: PodPaths, uid: string, plugin: string, name: string): string {
  return join(volumesFolder(paths, uid), pluginFolder(plugin), name);
}

export function containerFolder(paths: PodPaths, uid: string, container: string): string {
  return join(podFolder(paths, uid), "containers", container);
}

export function podLogFolder({ logs }: PodPaths, { metadata }: Pod): string {
  const { namespace = "", name = "", uid = "" } = metadata;
  return join(logs, `${namespace}_${name}_${uid}`);
}
