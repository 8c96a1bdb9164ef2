/** What pods take on the node's disk: writable layers, logs and local volumes. */
import { join } from "node:path";
import type { Pod, Volume } from "#api/generated/core.v1.ts";
import { type DiskUsage, diskUsage } from "#host/disk-usage.ts";
import type { ContainerStats } from "#kubelet/cri/stats-messages.ts";
import type { StorageUsage } from "#kubelet/decide/node/storage-limits.ts";
import { type PodPaths, podLogFolder, volumeFolder } from "#kubelet/pods/pod-paths.ts";
import { CONTAINER_NAME, POD_UID } from "#kubelet/runtime/labels.ts";

export interface PodStorage extends StorageUsage {
  readonly bytes: number;
  readonly inodes: number;
}

/** By the pod's uid. */
export async function measurePodStorage(
  pods: readonly Pod[],
  stats: readonly ContainerStats[],
  paths: PodPaths,
): Promise<ReadonlyMap<string, PodStorage>> {
  const folders = pods.flatMap((pod) => [
    ...localVolumes(pod, paths).map(({ folder }) => folder),
    ...logFolders(pod, paths).map(({ folder }) => folder),
  ]);
  const counted = folders.length === 0 ? new Map<string, DiskUsage>() : await diskUsage(folders);
  return new Map(
    pods.map((pod) => [pod.metadata.uid ?? "", storageOf(pod, stats, paths, counted)]),
  );
}

function storageOf(
  pod: Pod,
  stats: readonly ContainerStats[],
  paths: PodPaths,
  counted: ReadonlyMap<string, DiskUsage>,
): PodStorage {
  const volumes = new Map<string, number>();
  const containers = new Map<string, number>();
  let inodes = 0;
  const add = (to: Map<string, number>, name: string, bytes: number, files: number): void => {
    to.set(name, (to.get(name) ?? 0) + bytes);
    inodes += files;
  };
  for (const { name, folder } of localVolumes(pod, paths)) {
    const found = counted.get(folder);
    add(volumes, name, found?.bytes ?? 0, found?.inodes ?? 0);
  }
  for (const { name, folder } of logFolders(pod, paths)) {
    const found = counted.get(folder);
    add(containers, name, found?.bytes ?? 0, found?.inodes ?? 0);
  }
  for (const { attributes, writableLayer } of stats) {
    if (attributes?.labels[POD_UID] !== pod.metadata.uid) continue;
    const name = attributes?.labels[CONTAINER_NAME] ?? "";
    const { usedBytes, inodesUsed } = writableLayer ?? {};
    add(containers, name, Number(usedBytes?.value ?? 0n), Number(inodesUsed?.value ?? 0n));
  }
  const bytes = [...volumes.values(), ...containers.values()].reduce((a, b) => a + b, 0);
  return { volumes, containers, bytes, inodes };
}

interface NamedFolder {
  readonly name: string;
  readonly folder: string;
}

/** Those whose files lie on the node's disk. Memory is not storage. */
function localVolumes(pod: Pod, paths: PodPaths): NamedFolder[] {
  return (pod.spec.volumes ?? []).flatMap((volume) => {
    const plugin = localPlugin(volume);
    if (plugin === undefined) return [];
    const { name } = volume;
    return [{ name, folder: volumeFolder(paths, pod.metadata.uid ?? "", plugin, name) }];
  });
}

function localPlugin({ emptyDir, configMap, downwardAPI }: Volume): string | undefined {
  if (emptyDir !== undefined) {
    return (emptyDir.medium ?? "") === "" ? "kubernetes.io/empty-dir" : undefined;
  }
  if (configMap !== undefined) return "kubernetes.io/configmap";
  return downwardAPI === undefined ? undefined : "kubernetes.io/downward-api";
}

function logFolders(pod: Pod, paths: PodPaths): NamedFolder[] {
  const { containers, initContainers } = pod.spec;
  return [...(containers ?? []), ...(initContainers ?? [])].map(({ name }) => ({
    name,
    folder: join(podLogFolder(paths, pod), name),
  }));
}
