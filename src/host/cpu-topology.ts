/** How the machine's CPUs and memory are arranged, as the kernel shows it in /sys. */
import { join } from "node:path";
import { listFolder, readTextIfPresent } from "./files.ts";
import { hugePagesName } from "./huge-pages.ts";

export interface MachineCpu {
  readonly cpu: number;
  /** CPUs of the same core, itself included. */
  readonly siblings: string;
  readonly socket: number;
  readonly numaNode: number;
  /** The id of the level-3 cache. */
  readonly cache: number | undefined;
}

export interface MachineNumaNode {
  readonly id: number;
  readonly memoryBytes: number;
  /** By resource name (`hugepages-2Mi`): bytes in pages of that size. */
  readonly hugePages: Readonly<Record<string, number>>;
  /** To each node, in the order of their ids. */
  readonly distances: readonly number[];
  /** `0-3,8` */
  readonly cpus: string;
}

export interface MachineLayout {
  readonly cpus: readonly MachineCpu[];
  readonly nodes: readonly MachineNumaNode[];
}

/** If the kernel lists no NUMA nodes, there is one node with `memoryBytes`. */
export async function readMachineLayout(
  memoryBytes: number,
  parseList: (text: string) => readonly number[],
  root = "/sys/devices/system",
): Promise<MachineLayout> {
  const online = parseList((await text(join(root, "cpu/online"))) || "0");
  const found = await readNodes(root);
  const whole = { id: 0, memoryBytes, hugePages: {}, distances: [10], cpus: online.join() };
  const nodes = found.length > 0 ? found : [whole];
  const nodeOf = new Map(nodes.flatMap(({ id, cpus }) => parseList(cpus).map((cpu) => [cpu, id])));
  const cpus = await Promise.all(
    online.map(async (cpu) => ({ ...(await readCpu(root, cpu)), numaNode: nodeOf.get(cpu) ?? 0 })),
  );
  return { cpus, nodes };
}

async function readCpu(root: string, cpu: number): Promise<Omit<MachineCpu, "numaNode">> {
  const folder = join(root, `cpu/cpu${cpu}`);
  const [socket, siblings] = await Promise.all([
    text(join(folder, "topology/physical_package_id")),
    text(join(folder, "topology/thread_siblings_list")),
  ]);
  let cache: number | undefined;
  for (const name of await listFolder(join(folder, "cache"))) {
    if ((await text(join(folder, "cache", name, "level"))) !== "3") continue;
    const id = await text(join(folder, "cache", name, "id"));
    if (id !== "") cache = Number(id);
  }
  return {
    cpu,
    siblings: siblings || String(cpu),
    socket: Math.max(0, Number(socket || 0)),
    cache,
  };
}

async function readNodes(root: string): Promise<readonly MachineNumaNode[]> {
  const folder = join(root, "node");
  const ids = (await listFolder(folder)).flatMap((name) => {
    const id = /^node(\d+)$/.exec(name)?.[1];
    return id === undefined ? [] : [Number(id)];
  });
  return Promise.all(
    ids
      .sort((a, b) => a - b)
      .map(async (id) => {
        const own = join(folder, `node${id}`);
        const [meminfo, distance, cpus, hugePages] = await Promise.all([
          text(join(own, "meminfo")),
          text(join(own, "distance")),
          text(join(own, "cpulist")),
          readHugePages(join(own, "hugepages")),
        ]);
        const kilobytes = Number(/MemTotal:\s+(\d+) kB/.exec(meminfo)?.[1] ?? 0);
        const distances = distance
          .split(/\s+/)
          .filter((one) => one !== "")
          .map(Number);
        return { id, memoryBytes: kilobytes * 1024, hugePages, distances, cpus };
      }),
  );
}

async function readHugePages(folder: string): Promise<Record<string, number>> {
  const pages: Record<string, number> = {};
  for (const entry of await listFolder(folder)) {
    const kilobytes = Number(/^hugepages-(\d+)kB$/.exec(entry)?.[1] ?? 0);
    if (kilobytes === 0) continue;
    const count = Number(await text(join(folder, entry, "nr_hugepages")));
    pages[hugePagesName(kilobytes)] = count * kilobytes * 1024;
  }
  return pages;
}

async function text(path: string): Promise<string> {
  return ((await readTextIfPresent(path)) ?? "").trim();
}
