/** What eviction looks at: the machine's memory, disks and processes, and what pods use of them. */
import { readFile } from "node:fs/promises";
import type { Pod } from "#api/generated/core.v1.ts";
import { diskSpace, machineMemory } from "#host/machine.ts";
import type { CriClient } from "#kubelet/cri/cri-client.ts";
import type { ContainerStats } from "#kubelet/cri/stats-messages.ts";
import type { PodUsage } from "#kubelet/decide/node/eviction.ts";
import type { Observations } from "#kubelet/decide/node/eviction-thresholds.ts";
import type { PodPaths } from "#kubelet/pods/pod-paths.ts";
import { CONTAINER_NAME, POD_UID } from "#kubelet/runtime/labels.ts";
import { measurePodStorage, type PodStorage } from "#kubelet/stats/pod-storage.ts";

export interface EvictionMeasures {
  observe(): Promise<Observations>;
  usages(pods: readonly Pod[]): Promise<PodUsage[]>;
  storage(pods: readonly Pod[]): Promise<ReadonlyMap<string, PodStorage>>;
  /** Of the file system that holds the images. */
  imageDisk(): Promise<{ readonly capacityBytes: number; readonly availableBytes: number }>;
}

export function createEvictionMeasures(cri: CriClient, paths: PodPaths): EvictionMeasures {
  const stats = async (): Promise<readonly ContainerStats[]> =>
    (await cri.runtime.listContainerStats({})).stats;
  const imageSpace = async (): ReturnType<typeof diskSpace> => {
    const { imageFilesystems } = await cri.images.imageFsInfo({});
    return diskSpace(imageFilesystems[0]?.fsId?.mountpoint || paths.root);
  };
  return {
    async observe() {
      const [memory, node, image, processes] = await Promise.all([
        machineMemory(),
        diskSpace(paths.root),
        imageSpace().catch(() => undefined), // the runtime is down: its own condition
        processRoom(),
      ]);
      return {
        "memory.available": { available: memory.availableBytes, capacity: memory.totalBytes },
        "nodefs.available": { available: node.availableBytes, capacity: node.totalBytes },
        "nodefs.inodesFree": { available: node.freeInodes, capacity: node.totalInodes },
        ...(image === undefined
          ? {}
          : {
              "imagefs.available": { available: image.availableBytes, capacity: image.totalBytes },
              "imagefs.inodesFree": { available: image.freeInodes, capacity: image.totalInodes },
            }),
        "pid.available": processes,
      };
    },
    async usages(pods) {
      const [all, { stats: sandboxes }] = await Promise.all([
        stats(),
        cri.runtime.listPodSandboxStats({}).catch(() => ({ stats: [] })),
      ]);
      const storage = await measurePodStorage(pods, all, paths);
      const processes = new Map(
        sandboxes.map(({ attributes, linux }) => [
          attributes?.metadata?.uid ?? "",
          Number(linux?.process?.processCount?.value ?? 0n),
        ]),
      );
      return pods.map((pod) => usageOf(pod, all, storage, processes));
    },
    storage: async (pods) => measurePodStorage(pods, await stats(), paths),
    async imageDisk() {
      const { totalBytes, availableBytes } = await imageSpace();
      return { capacityBytes: totalBytes, availableBytes };
    },
  };
}

function usageOf(
  pod: Pod,
  stats: readonly ContainerStats[],
  storage: ReadonlyMap<string, PodStorage>,
  processes: ReadonlyMap<string, number>,
): PodUsage {
  const uid = pod.metadata.uid ?? "";
  const own = stats.filter(({ attributes }) => attributes?.labels[POD_UID] === uid);
  const disk = storage.get(uid);
  if (own.length === 0 || disk === undefined) return { pod };
  const containers = own.map(({ attributes, memory }) => {
    const name = attributes?.labels[CONTAINER_NAME] ?? "";
    const memoryBytes = Number(memory?.workingSetBytes?.value ?? 0n);
    return { name, memoryBytes, diskBytes: disk.containers.get(name) ?? 0 };
  });
  return {
    pod,
    use: {
      memoryBytes: containers.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0),
      ...{ diskBytes: disk.bytes, inodes: disk.inodes, containers },
      processes: processes.get(uid) ?? 0,
    },
  };
}

/** The fourth field of loadavg is `running/all`, threads counted, as upstream does. */
async function processRoom(): Promise<{ readonly available: number; readonly capacity: number }> {
  const [pidMax, threadsMax, load] = await Promise.all([
    readFile("/proc/sys/kernel/pid_max", "utf8"),
    readFile("/proc/sys/kernel/threads-max", "utf8"),
    readFile("/proc/loadavg", "utf8"),
  ]);
  const capacity = Math.min(Number(pidMax), Number(threadsMax));
  return { available: capacity - Number(load.split(" ")[3]?.split("/")[1] ?? 0), capacity };
}
