/** The kubelet's `/stats/summary`: use of resources by the node, its pods and their containers. Pure. */
import type { Pod } from "#api/generated/core.v1.ts";
import { microTimeFromMs, timeFromMs } from "#api/meta/time.ts";
import type { InterfaceUsage } from "#host/network-usage.ts";
import type { FilesystemSpace, NodeUsage } from "#host/node-usage.ts";
import type { ContainerStats } from "#kubelet/cri/stats-messages.ts";
import type { NamedVolumeStats } from "#kubelet/volumes/volume-stats.ts";

export interface SummaryInput {
  readonly nodeName: string;
  readonly nowMs: number;
  readonly node: NodeUsage;
  readonly rootFilesystem: FilesystemSpace;
  readonly imageFilesystemUsedBytes: number | undefined;
  readonly containers: readonly ContainerStats[];
  readonly pods: readonly Pod[];
  /** By the pod's uid. */
  readonly volumes: ReadonlyMap<string, readonly NamedVolumeStats[]>;
}

export interface CpuStats {
  readonly time: string;
  readonly usageNanoCores?: number;
  readonly usageCoreNanoSeconds: number;
}

export interface MemoryStats {
  readonly time: string;
  readonly availableBytes?: number;
  readonly usageBytes?: number;
  readonly workingSetBytes: number;
  readonly rssBytes?: number;
  readonly pageFaults?: number;
  readonly majorPageFaults?: number;
}

export interface SwapStats {
  readonly time: string;
  readonly swapAvailableBytes?: number;
  readonly swapUsageBytes?: number;
}

export interface ContainerSummary {
  readonly name: string;
  readonly startTime: string;
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  /** Where the runtime counts it. */
  readonly swap?: SwapStats;
  readonly rootfs?: object;
  readonly logs?: object;
}

export interface PodSummary {
  readonly podRef: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly startTime: string;
  readonly containers: readonly ContainerSummary[];
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly swap?: SwapStats;
  readonly volume?: readonly object[];
}

export interface Summary {
  readonly node: {
    readonly nodeName: string;
    readonly startTime: string;
    readonly cpu: CpuStats;
    readonly memory: MemoryStats;
    readonly swap?: SwapStats;
    readonly [more: string]: unknown;
  };
  readonly pods: readonly PodSummary[];
}

const UID = "io.kubernetes.pod.uid";
const CONTAINER = "io.kubernetes.container.name";

export function summaryOf(input: SummaryInput): Summary {
  const { nodeName, nowMs, node, rootFilesystem, imageFilesystemUsedBytes } = input;
  const time = microTimeFromMs(nowMs);
  const filesystem = { time, ...rootFilesystem };
  const interfaces = node.interfaces.map(interfaceSummary);
  const [main] = interfaces;
  return {
    node: {
      nodeName,
      startTime: timeFromMs(node.bootMs),
      cpu: { time, usageCoreNanoSeconds: node.cpuNanoseconds },
      memory: {
        time,
        availableBytes: Math.max(0, node.memoryTotalBytes - node.memoryWorkingSetBytes),
        usageBytes: node.memoryUsageBytes,
        workingSetBytes: node.memoryWorkingSetBytes,
        rssBytes: node.memoryRssBytes,
        pageFaults: node.pageFaults,
        majorPageFaults: node.majorPageFaults,
      },
      ...(main === undefined ? {} : { network: { time, ...main, interfaces } }),
      fs: filesystem,
      runtime: {
        imageFs: { ...filesystem, usedBytes: imageFilesystemUsedBytes ?? rootFilesystem.usedBytes },
        containerFs: filesystem,
      },
      rlimit: { time, maxpid: node.processesMax, curproc: node.processes },
      swap: {
        time,
        swapAvailableBytes: node.swapFreeBytes,
        swapUsageBytes: node.swapTotalBytes - node.swapFreeBytes,
      },
    },
    pods: podSummaries(input),
  };
}

function interfaceSummary({ name, rxBytes, rxErrors, txBytes, txErrors }: InterfaceUsage): object {
  return { name, rxBytes, rxErrors, txBytes, txErrors };
}

function podSummaries(input: SummaryInput): PodSummary[] {
  const { containers, pods, volumes, nowMs, rootFilesystem } = input;
  const byUid = new Map<string, ContainerStats[]>();
  for (const stats of containers) {
    const uid = stats.attributes?.labels[UID] ?? "";
    byUid.set(uid, [...(byUid.get(uid) ?? []), stats]);
  }
  return pods.flatMap((pod) => {
    const { uid = "", name = "", namespace = "" } = pod.metadata;
    const own = byUid.get(uid) ?? [];
    if (own.length === 0) return [];
    const summaries = own.map((stats) => containerSummary(stats, pod, nowMs, rootFilesystem));
    return [
      {
        podRef: { name, namespace, uid },
        startTime: pod.status?.startTime ?? timeFromMs(nowMs),
        containers: summaries,
        ...totals(summaries, nowMs),
        ...volumeSummaries(volumes.get(uid)),
      },
    ];
  });
}

function volumeSummaries(stats: readonly NamedVolumeStats[] = []): Pick<PodSummary, "volume"> {
  if (stats.length === 0) return {};
  return {
    volume: stats.map(({ timeMs, ...one }) => ({ time: timeFromMs(timeMs), ...one })),
  };
}

function containerSummary(
  stats: ContainerStats,
  pod: Pod,
  nowMs: number,
  filesystem: FilesystemSpace,
): ContainerSummary {
  const { cpu, memory, swap, writableLayer, attributes } = stats;
  const name = attributes?.labels[CONTAINER] ?? attributes?.metadata?.name ?? "";
  const time = microTimeFromMs(nowMs);
  const number = (value: { readonly value: bigint | number } | undefined): number | undefined =>
    value === undefined ? undefined : Number(value.value);
  const workingSetBytes = number(memory?.workingSetBytes);
  const usageBytes = number(memory?.usageBytes);
  const rssBytes = number(memory?.rssBytes);
  const nanoseconds = number(cpu?.usageCoreNanoSeconds);
  const nanoCores = number(cpu?.usageNanoCores);
  const swapAvailableBytes = number(swap?.swapAvailableBytes);
  const swapUsageBytes = number(swap?.swapUsageBytes);
  return {
    name,
    startTime: startOf(pod, name) ?? time,
    ...(nanoseconds === undefined
      ? {}
      : {
          cpu: {
            time,
            ...(nanoCores === undefined ? {} : { usageNanoCores: nanoCores }),
            usageCoreNanoSeconds: nanoseconds,
          },
        }),
    ...(workingSetBytes === undefined
      ? {}
      : {
          memory: {
            time,
            ...(usageBytes === undefined ? {} : { usageBytes }),
            workingSetBytes,
            ...(rssBytes === undefined ? {} : { rssBytes }),
          },
        }),
    ...(swapAvailableBytes === undefined && swapUsageBytes === undefined
      ? {}
      : {
          swap: {
            time,
            ...(swapAvailableBytes === undefined ? {} : { swapAvailableBytes }),
            ...(swapUsageBytes === undefined ? {} : { swapUsageBytes }),
          },
        }),
    rootfs: {
      time,
      availableBytes: filesystem.availableBytes,
      capacityBytes: filesystem.capacityBytes,
      usedBytes: number(writableLayer?.usedBytes) ?? 0,
      inodesFree: filesystem.inodesFree,
      inodes: filesystem.inodes,
      inodesUsed: number(writableLayer?.inodesUsed) ?? 0,
    },
  };
}

function startOf({ status }: Pod, container: string): string | undefined {
  const { containerStatuses = [], initContainerStatuses = [] } = status ?? {};
  const { ephemeralContainerStatuses = [] } = status ?? {};
  const statuses = [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses];
  const found = statuses.find((s) => s.name === container);
  return found?.state?.running?.startedAt ?? undefined;
}

/** A pod uses what its containers use together. */
function totals(
  containers: readonly ContainerSummary[],
  nowMs: number,
): Pick<PodSummary, "cpu" | "memory" | "swap"> {
  const time = microTimeFromMs(nowMs);
  const sum = (value: (container: ContainerSummary) => number | undefined): number =>
    containers.reduce((total, container) => total + (value(container) ?? 0), 0);
  return {
    cpu: {
      time,
      usageNanoCores: sum(({ cpu }) => cpu?.usageNanoCores),
      usageCoreNanoSeconds: sum(({ cpu }) => cpu?.usageCoreNanoSeconds),
    },
    memory: {
      time,
      usageBytes: sum(({ memory }) => memory?.usageBytes),
      workingSetBytes: sum(({ memory }) => memory?.workingSetBytes),
      rssBytes: sum(({ memory }) => memory?.rssBytes),
    },
    ...(containers.some(({ swap }) => swap !== undefined)
      ? {
          swap: {
            time,
            swapAvailableBytes: sum(({ swap }) => swap?.swapAvailableBytes),
            swapUsageBytes: sum(({ swap }) => swap?.swapUsageBytes),
          },
        }
      : {}),
  };
}
