/** What the machine as a whole uses now: processor time, memory, network, disk, processes. */
import { readdir, readFile, statfs } from "node:fs/promises";
import { readTextIfPresent } from "./files.ts";
import { type InterfaceUsage, parseNetDev } from "./network-usage.ts";

export interface NodeUsage {
  readonly cpuNanoseconds: number;
  readonly memoryTotalBytes: number;
  readonly memoryAvailableBytes: number;
  /** Used and not to be had back at once: what the kubelet calls the working set. */
  readonly memoryWorkingSetBytes: number;
  readonly memoryUsageBytes: number;
  readonly memoryRssBytes: number;
  readonly pageFaults: number;
  readonly majorPageFaults: number;
  readonly swapTotalBytes: number;
  readonly swapFreeBytes: number;
  readonly bootMs: number;
  readonly processes: number;
  readonly processesMax: number;
  readonly interfaces: readonly InterfaceUsage[];
}

export interface FilesystemSpace {
  readonly availableBytes: number;
  readonly capacityBytes: number;
  readonly usedBytes: number;
  readonly inodesFree: number;
  readonly inodes: number;
  readonly inodesUsed: number;
}

/** The kernel counts processor time in hundredths of a second for user space. */
const NANOSECONDS_PER_TICK = 10_000_000;
const KILOBYTE = 1024;

export async function readNodeUsage(): Promise<NodeUsage> {
  const [stat, meminfo, vmstat, network, pidMax, processes] = await Promise.all([
    readFile("/proc/stat", "utf8"),
    readFile("/proc/meminfo", "utf8"),
    readFile("/proc/vmstat", "utf8"),
    readTextIfPresent("/proc/net/dev"),
    readFile("/proc/sys/kernel/pid_max", "utf8"),
    countProcesses(),
  ]);
  const kilobytes = (name: string): number => field(meminfo, `${name}:`) * KILOBYTE;
  const total = kilobytes("MemTotal");
  const usage = total - kilobytes("MemFree");
  return {
    cpuNanoseconds: busyTicks(stat) * NANOSECONDS_PER_TICK,
    memoryTotalBytes: total,
    memoryAvailableBytes: kilobytes("MemAvailable"),
    memoryWorkingSetBytes: Math.max(0, usage - kilobytes("Inactive\\(file\\)")),
    memoryUsageBytes: usage,
    memoryRssBytes: kilobytes("AnonPages"),
    pageFaults: field(vmstat, "pgfault"),
    majorPageFaults: field(vmstat, "pgmajfault"),
    swapTotalBytes: kilobytes("SwapTotal"),
    swapFreeBytes: kilobytes("SwapFree"),
    bootMs: field(stat, "btime") * 1000,
    processes,
    processesMax: Number(pidMax),
    interfaces: parseNetDev(network ?? ""),
  };
}

export async function filesystemSpace(path: string): Promise<FilesystemSpace> {
  const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(path);
  return {
    availableBytes: bavail * bsize,
    capacityBytes: blocks * bsize,
    usedBytes: (blocks - bfree) * bsize,
    inodesFree: ffree,
    inodes: files,
    inodesUsed: files - ffree,
  };
}

function field(text: string, name: string): number {
  return Number(new RegExp(`^${name}\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0);
}

/** Everything but idle and waiting for IO. */
function busyTicks(stat: string): number {
  const [user = 0, nice = 0, system = 0, _idle, _wait, irq = 0, softIrq = 0, steal = 0] =
    /^cpu +(.*)$/m.exec(stat)?.[1]?.split(" ").map(Number) ?? [];
  return user + nice + system + irq + softIrq + steal;
}

async function countProcesses(): Promise<number> {
  const names = await readdir("/proc");
  return names.filter((name) => /^\d+$/.test(name)).length;
}
