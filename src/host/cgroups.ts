/**
 * Cgroups of the machine, version 1 (one tree for each controller) or 2 (one tree). Which one it is
 * is found out, not configured. Names are absolute: `/kubepods/burstable/podX`.
 *
 * Promises:
 * 1. `ensure` makes the group in every tree and sets the limits; calling it again changes only them.
 * 2. `remove` kills what still runs inside, removes the group and those below it, and waits until
 *    the kernel lets go of them.
 */
import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf } from "#lib/caught.ts";
import type { Clock } from "#lib/time/clock.ts";
import { listFolder, pathExists } from "./files.ts";

const ROOT = "/sys/fs/cgroup";
/** Of version 1. */
const CONTROLLERS = [
  "cpu",
  "cpuacct",
  "cpuset",
  "memory",
  "devices",
  "freezer",
  "blkio",
  "pids",
  "hugetlb",
  "systemd",
];
/** Without these, upstream's kubelet does not start either. */
const NEEDED_CONTROLLERS = ["cpu", "cpuacct", "cpuset", "memory"];
const REMOVE_ATTEMPTS_MAX = 50;
const REMOVE_PAUSE_MS = 20;

export interface CgroupLimits {
  readonly cpuShares?: number;
  readonly cpuQuotaUs?: number;
  readonly cpuPeriodUs?: number;
  readonly memoryLimitBytes?: number;
  readonly pidsMax?: number;
}

export interface Cgroups {
  readonly version: 1 | 2;
  ensure(name: string, limits: CgroupLimits): Promise<void>;
  remove(name: string): Promise<void>;
  /** Names of the groups directly below. */
  children(name: string): Promise<readonly string[]>;
  exists(name: string): Promise<boolean>;
}

export async function openCgroups(clock: Clock): Promise<Cgroups> {
  const isV2 = await pathExists(join(ROOT, "cgroup.controllers"));
  return isV2 ? cgroupsV2(clock) : cgroupsV1(clock);
}

/** Why containers cannot have cgroups here; undefined if they can. `root`: where they are mounted. */
export async function cgroupRefusal(root = ROOT): Promise<string | undefined> {
  const present = new Set(await listFolder(root));
  if (present.has("cgroup.controllers")) return undefined;
  const missing = NEEDED_CONTROLLERS.filter((name) => !present.has(name));
  if (missing.length === 0) return undefined;
  const lacking =
    missing.length === NEEDED_CONTROLLERS.length ? "none" : `no ${missing.join(", ")}`;
  return `real nodes need cgroups, and ${root} has ${lacking} ("ip netns exec" hides them, "nsenter --net" does not)`;
}

/** Whether the kernel limits swap by cgroup. Version 2 has no such file in the root. */
export async function hasSwapController(version: 1 | 2): Promise<boolean> {
  if (version === 1) return pathExists(join(ROOT, "memory", "memory.memsw.limit_in_bytes"));
  const own = /^0::(.*)$/m.exec(await readFile("/proc/self/cgroup", "utf8"))?.[1] ?? "";
  return pathExists(join(ROOT, own, "memory.swap.max"));
}

async function cgroupsV1(clock: Clock): Promise<Cgroups> {
  const present = new Set(await readdir(ROOT));
  const trees = CONTROLLERS.filter((name) => present.has(name)).map((name) => join(ROOT, name));
  // Runtimes make groups in every tree that there is, such as the one of version 2 beside these.
  const allTrees = [...present].map((name) => join(ROOT, name));
  return {
    version: 1,
    async ensure(name, limits) {
      await Promise.all(trees.map((tree) => ensureV1(tree, name)));
      await setAll([
        [join(ROOT, "cpu", name, "cpu.shares"), limits.cpuShares],
        [join(ROOT, "cpu", name, "cpu.cfs_period_us"), limits.cpuPeriodUs],
        [join(ROOT, "cpu", name, "cpu.cfs_quota_us"), quotaV1(limits)],
        [join(ROOT, "memory", name, "memory.limit_in_bytes"), limits.memoryLimitBytes],
        [join(ROOT, "pids", name, "pids.max"), limits.pidsMax],
      ]);
    },
    remove: (name) =>
      removeGroups(
        allTrees.map((tree) => join(tree, name)),
        clock,
      ),
    children: (name) => foldersIn(join(ROOT, "memory", name)),
    exists: (name) => pathExists(join(ROOT, "memory", name)),
  };
}

function quotaV1({ cpuQuotaUs }: CgroupLimits): number | undefined {
  return cpuQuotaUs === 0 ? -1 : cpuQuotaUs;
}

/** The groups above it are nearly always there: they are looked at only when one is missing. */
async function ensureV1(tree: string, name: string): Promise<void> {
  const path = join(tree, name);
  try {
    await mkdir(path);
  } catch (error) {
    if (codeOf(error) === "EEXIST") return;
    if (codeOf(error) !== "ENOENT" || name === "/") throw error;
    await ensureV1(tree, dirname(name));
    return ensureV1(tree, name);
  }
  if (tree.endsWith("cpuset")) await copyCpuset(dirname(path), path);
}

/** cpuset groups are unusable until they have cpus and memory nodes. */
async function copyCpuset(parent: string, path: string): Promise<void> {
  for (const file of ["cpuset.cpus", "cpuset.mems"]) {
    const value = (await readFile(join(parent, file), "utf8")).trim();
    if (value !== "") await writeFile(join(path, file), value);
  }
}

function cgroupsV2(clock: Clock): Cgroups {
  return {
    version: 2,
    async ensure(name, limits) {
      let path = ROOT;
      for (const part of name.split("/").filter((one) => one !== "")) {
        await enableControllers(path);
        path = join(path, part);
        await mkdir(path, { recursive: true });
      }
      const { cpuShares, cpuQuotaUs, cpuPeriodUs = 100_000, memoryLimitBytes, pidsMax } = limits;
      const quota = cpuQuotaUs === undefined || cpuQuotaUs <= 0 ? "max" : String(cpuQuotaUs);
      await setAll([
        [join(path, "cpu.weight"), cpuShares === undefined ? undefined : weightOf(cpuShares)],
        [join(path, "cpu.max"), cpuQuotaUs === undefined ? undefined : `${quota} ${cpuPeriodUs}`],
        [join(path, "memory.max"), memoryLimitBytes],
        [join(path, "pids.max"), pidsMax],
      ]);
    },
    remove: (name) => removeGroups([join(ROOT, name)], clock),
    children: (name) => foldersIn(join(ROOT, name)),
    exists: (name) => pathExists(join(ROOT, name)),
  };
}

/** Shares of 2…262144 are spread over weights of 1…10000. */
function weightOf(shares: number): number {
  return Math.floor(1 + ((shares - 2) * 9_999) / 262_142);
}

async function enableControllers(path: string): Promise<void> {
  const available = (await readFile(join(path, "cgroup.controllers"), "utf8")).trim().split(" ");
  for (const controller of available.filter((one) => one !== "")) {
    // One that cannot be enabled here, such as cpu with real-time processes, is done without.
    await writeFile(join(path, "cgroup.subtree_control"), `+${controller}`).catch(() => undefined);
  }
}

async function setAll(
  values: readonly (readonly [path: string, value: number | string | undefined])[],
): Promise<void> {
  for (const [path, value] of values) {
    if (value === undefined) continue;
    try {
      await writeFile(path, String(value));
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error; // the controller is not there
    }
  }
}

async function foldersIn(path: string): Promise<readonly string[]> {
  if (!(await pathExists(path))) return [];
  const entries = await readdir(path, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

async function removeGroups(paths: readonly string[], clock: Clock): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    const left = await Promise.all(paths.map(removeBelow));
    if (left.every((isGone) => isGone)) return;
    if (attempt === REMOVE_ATTEMPTS_MAX) throw new Error(`cgroup ${paths[0]} cannot be removed`);
    await Promise.all(paths.map(killIn));
    await clock.sleep(REMOVE_PAUSE_MS);
  }
}

async function removeBelow(path: string): Promise<boolean> {
  for (const name of await foldersIn(path)) await removeBelow(join(path, name));
  try {
    await rmdir(path);
    return true;
  } catch (error) {
    return codeOf(error) === "ENOENT";
  }
}

async function killIn(path: string): Promise<void> {
  for (const name of await foldersIn(path)) await killIn(join(path, name));
  if ((await listFolder(path)).length === 0) return;
  const text = await readFile(join(path, "cgroup.procs"), "utf8").catch(() => "");
  for (const line of text.split("\n")) {
    const pid = Number(line);
    if (pid <= 1) continue;
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      if (codeOf(error) !== "ESRCH") throw error;
    }
  }
}
