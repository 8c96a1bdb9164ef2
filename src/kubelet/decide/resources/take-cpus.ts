/**
 * Picks CPUs for exclusive use, best fit by topology: whole NUMA nodes and sockets first (the larger
 * of both levels first), then, if asked for, CPUs that share a last-level cache, whole cores, and
 * single CPUs. Among groups of one level those with the fewest free CPUs come first, then the lowest
 * id, so that large free groups stay whole.
 */
import { type CpuSet, difference, union } from "./cpu-set.ts";
import {
  type CpuPlace,
  type CpuTopology,
  cpusIn,
  groupsOf,
  keepOnly,
  type Level,
} from "./cpu-topology.ts";

export interface TakeOptions {
  /** prefer-align-cpus-by-uncorecache */
  readonly alignByUncoreCache?: boolean;
}

/** Throws where there are too few. */
export function takeCpus(
  topology: CpuTopology,
  available: CpuSet,
  count: number,
  options: TakeOptions = {},
): CpuSet {
  if (count < 1) return [];
  if (count > available.length) throw notEnoughCpus(count, available);
  const taking = new Taking(topology, available, count);
  const isNumaFirst = topology.sockets >= topology.numaNodes;
  const levels: Level[] = isNumaFirst ? ["numaNode", "socket"] : ["socket", "numaNode"];
  for (const level of levels) taking.takeWhole(level);
  if (options.alignByUncoreCache) taking.takeUncoreCaches();
  taking.takeWhole("core");
  taking.takeSingle();
  return taking.taken;
}

export function notEnoughCpus(count: number, available: CpuSet): Error {
  return new Error(
    `not enough cpus available to satisfy request: requested=${count}, available=${available.length}`,
  );
}

/** NUMA nodes with free CPUs, in the order in which they are used. */
export function sortedNumaNodes(topology: CpuTopology, free: readonly CpuPlace[]): number[] {
  if (topology.sockets >= topology.numaNodes) return byFreeCpus(free, "numaNode");
  return byFreeCpus(free, "socket").flatMap((socket) => inside(free, "socket", socket, "numaNode"));
}

class Taking {
  readonly #topology: CpuTopology;
  #free: readonly CpuPlace[];
  #needed: number;
  taken: CpuSet = [];

  constructor(topology: CpuTopology, available: CpuSet, count: number) {
    this.#topology = topology;
    this.#free = keepOnly(topology.cpus, available);
    this.#needed = count;
  }

  takeWhole(level: Level): void {
    for (const id of this.#sorted(level)) {
      const whole = cpusIn(this.#topology.cpus, level, id);
      const isFree = cpusIn(this.#free, level, id).length === this.#sizeOf(level, id);
      if (isFree && this.#needed >= whole.length && whole.length > 0) this.#take(whole);
    }
  }

  takeUncoreCaches(): void {
    const { cpus } = this.#topology;
    const caches = groupsOf(cpus, "uncoreCache").length;
    const cpusPerCache = caches === 0 ? 0 : Math.floor(cpus.length / caches);
    for (const cache of this.#sorted("uncoreCache")) {
      if (this.#needed >= cpusPerCache) this.takeWhole("uncoreCache");
      if (this.#needed < 1) return;
      this.#takePartOfCache(cache);
      if (this.#needed < 1) return;
    }
  }

  takeSingle(): void {
    for (const cpu of this.#sorted("core").flatMap((core) => cpusIn(this.#free, "core", core))) {
      if (this.#needed < 1) return;
      this.#take([cpu]);
    }
  }

  /** Only if the cache has all that is still needed. */
  #takePartOfCache(cache: number): void {
    const { cpusPerCore } = this.#topology;
    const inCache = this.#free.filter(({ uncoreCache }) => uncoreCache === cache);
    const cores = groupsOf(inCache, "core").slice(0, Math.ceil(this.#needed / cpusPerCore));
    let cpus = cpusIn(this.#free, "core", cores);
    const isOdd = this.#needed % 2 !== 0 && cpusPerCore > 1;
    if (isOdd && cpus.length > this.#needed) cpus = cpus.slice(0, -1);
    if (cpus.length === this.#needed) this.#take(cpus);
  }

  #take(cpus: CpuSet): void {
    this.taken = union(this.taken, cpus);
    const left = difference(
      this.#free.map(({ cpu }) => cpu),
      cpus,
    );
    this.#free = keepOnly(this.#free, left);
    this.#needed -= cpus.length;
  }

  #sizeOf(level: Level, id: number): number {
    if (level === "socket") return this.#topology.cpusPerSocket;
    if (level === "core") return this.#topology.cpusPerCore;
    return cpusIn(this.#topology.cpus, level, id).length;
  }

  #sorted(level: Level): readonly number[] {
    const free = this.#free;
    const isNumaFirst = this.#topology.sockets >= this.#topology.numaNodes;
    switch (level) {
      case "numaNode":
        return sortedNumaNodes(this.#topology, free);
      case "socket":
        if (!isNumaFirst) return byFreeCpus(free, "socket");
        return byFreeCpus(free, "numaNode").flatMap((id) => inside(free, "numaNode", id, "socket"));
      case "uncoreCache":
        return this.#sorted("numaNode").flatMap((id) =>
          inside(free, "numaNode", id, "uncoreCache"),
        );
      case "core": {
        const outer: Level = isNumaFirst ? "socket" : "numaNode";
        return this.#sorted(outer).flatMap((id) => inside(free, outer, id, "core"));
      }
    }
  }
}

/** Groups of a level by their number of free CPUs, then by id. */
function byFreeCpus(
  free: readonly CpuPlace[],
  level: Level,
  ids = groupsOf(free, level),
): number[] {
  const counts = new Map(ids.map((id) => [id, cpusIn(free, level, id).length]));
  return [...ids].sort((a, b) => (counts.get(a) ?? 0) - (counts.get(b) ?? 0) || a - b);
}

function inside(free: readonly CpuPlace[], outer: Level, id: number, level: Level): number[] {
  const own = free.filter((one) => one[outer] === id);
  return byFreeCpus(free, level, groupsOf(own, level));
}
