/** Where each CPU of the machine sits: core, socket, NUMA node and last-level cache. */
import { type CpuSet, cpuSet } from "./cpu-set.ts";

export interface CpuPlace {
  readonly cpu: number;
  /** The lowest CPU of the core, which makes it unique on the machine. */
  readonly core: number;
  readonly socket: number;
  readonly numaNode: number;
  /** The cache that cores share; the socket where there is none. */
  readonly uncoreCache: number;
}

export interface CpuTopology {
  readonly cpus: readonly CpuPlace[];
  readonly sockets: number;
  readonly numaNodes: number;
  readonly cpusPerCore: number;
  readonly cpusPerSocket: number;
}

export type Level = "core" | "socket" | "numaNode" | "uncoreCache";

export function cpuTopology(cpus: readonly CpuPlace[]): CpuTopology {
  const count = (level: Level): number => new Set(cpus.map((one) => one[level])).size;
  const [sockets, cores] = [count("socket"), count("core")];
  return {
    cpus,
    sockets,
    numaNodes: count("numaNode"),
    cpusPerCore: cores === 0 ? 0 : Math.floor(cpus.length / cores),
    cpusPerSocket: sockets === 0 ? 0 : Math.floor(cpus.length / sockets),
  };
}

export function allCpus({ cpus }: Pick<CpuTopology, "cpus">): CpuSet {
  return cpuSet(cpus.map(({ cpu }) => cpu));
}

/** Ids of the groups of a level, ascending. */
export function groupsOf(cpus: readonly CpuPlace[], level: Level): readonly number[] {
  return cpuSet(cpus.map((one) => one[level]));
}

export function cpusIn(
  cpus: readonly CpuPlace[],
  level: Level,
  ids: number | readonly number[],
): CpuSet {
  const wanted = new Set(typeof ids === "number" ? [ids] : ids);
  return cpuSet(cpus.filter((one) => wanted.has(one[level])).map(({ cpu }) => cpu));
}

export function keepOnly(cpus: readonly CpuPlace[], set: CpuSet): readonly CpuPlace[] {
  const kept = new Set(set);
  return cpus.filter(({ cpu }) => kept.has(cpu));
}
