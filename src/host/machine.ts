/** Facts of the machine for the Node object. */
import { readFile, statfs } from "node:fs/promises";
import {
  arch,
  availableParallelism,
  hostname,
  networkInterfaces,
  release,
  totalmem,
  uptime,
} from "node:os";
import { listFolder, readTextIfPresent } from "./files.ts";
import { hugePagesName } from "./huge-pages.ts";

export interface MachineFacts {
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly swapBytes: number;
  /** Bytes for each page size: `hugepages-2Mi`. */
  readonly hugePages: Readonly<Record<string, number>>;
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  /** As Go names it. */
  readonly architecture: string;
  readonly hostname: string;
}

export async function readMachine(): Promise<MachineFacts> {
  const [meminfo, machineId, systemUuid, bootId, osRelease, hugePages] = await Promise.all([
    readFile("/proc/meminfo", "utf8"),
    readTextIfPresent("/etc/machine-id"),
    readFile("/sys/class/dmi/id/product_uuid", "utf8").catch(() => undefined),
    readTextIfPresent("/proc/sys/kernel/random/boot_id"),
    readTextIfPresent("/etc/os-release"),
    readHugePages(),
  ]);
  const kilobytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(meminfo)?.[1] ?? 0);
  const id = machineId?.trim() ?? "";
  return {
    cpus: availableParallelism(),
    memoryBytes: kilobytes("MemTotal") * 1024 || totalmem(),
    swapBytes: kilobytes("SwapTotal") * 1024,
    hugePages,
    machineId: id,
    systemUuid: systemUuid?.trim() || id,
    bootId: bootId?.trim() ?? "",
    kernelVersion: release(),
    osImage: /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(osRelease ?? "")?.[1] ?? "Linux",
    architecture: arch() === "x64" ? "amd64" : arch(),
    hostname: hostname().toLowerCase().trim(),
  };
}

/** Since the machine was started. */
export function machineUptimeSeconds(): number {
  return uptime();
}

export interface DiskSpace {
  readonly totalBytes: number;
  readonly availableBytes: number;
  readonly totalInodes: number;
  readonly freeInodes: number;
}

export async function diskSpace(path: string): Promise<DiskSpace> {
  const { bsize, blocks, bavail, files, ffree } = await statfs(path);
  return {
    totalBytes: blocks * bsize,
    availableBytes: bavail * bsize,
    totalInodes: files,
    freeInodes: ffree,
  };
}

export interface MachineMemory {
  readonly totalBytes: number;
  /** What could be had without swapping. */
  readonly availableBytes: number;
}

export async function machineMemory(): Promise<MachineMemory> {
  const text = await readFile("/proc/meminfo", "utf8");
  const bytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1] ?? 0) * 1024;
  return { totalBytes: bytes("MemTotal"), availableBytes: bytes("MemAvailable") };
}

/** Addresses of the interface with the default route first; loopback only if there is nothing else. */
export async function machineAddresses(): Promise<readonly string[]> {
  const routes = (await readTextIfPresent("/proc/net/route")) ?? "";
  const lines = routes
    .split("\n")
    .slice(1)
    .map((line) => line.split("\t"));
  const main = lines.find(([, destination]) => destination === "00000000")?.[0];
  const all = Object.entries(networkInterfaces()).flatMap(([name, addresses = []]) =>
    addresses
      .filter(({ address }) => !address.startsWith("fe80"))
      .map(({ address, internal, family }) => ({ name, address, internal, family })),
  );
  const outer = all.filter(({ internal }) => !internal);
  const candidates = outer.length > 0 ? outer : all;
  const rank = (one: (typeof all)[number]): number =>
    (one.name === main ? 0 : 2) + (one.family === "IPv4" ? 0 : 1);
  return [...candidates].sort((a, b) => rank(a) - rank(b)).map(({ address }) => address);
}

async function readHugePages(): Promise<Record<string, number>> {
  const root = "/sys/kernel/mm/hugepages";
  const pages: Record<string, number> = {};
  for (const name of await listFolder(root)) {
    const kilobytes = Number(/^hugepages-(\d+)kB$/.exec(name)?.[1] ?? 0);
    if (kilobytes === 0) continue;
    const count = Number((await readTextIfPresent(`${root}/${name}/nr_hugepages`)) ?? 0);
    pages[hugePagesName(kilobytes)] = count * kilobytes * 1024;
  }
  return pages;
}
