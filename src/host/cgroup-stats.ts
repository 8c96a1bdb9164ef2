/** What the kernel counts for a cgroup, version 1 or 2. Counters that are not there are left out. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

const ROOT = "/sys/fs/cgroup";

export interface CgroupStats {
  readonly cpuPeriods?: number;
  readonly cpuThrottledPeriods?: number;
  readonly cpuThrottledSeconds?: number;
  readonly cpuUserSeconds?: number;
  readonly cpuSystemSeconds?: number;
  readonly memoryRssBytes?: number;
  readonly memoryCacheBytes?: number;
  readonly memoryMappedFileBytes?: number;
  readonly memoryLimitBytes?: number;
  readonly memoryFailures?: number;
  readonly processes?: number;
  readonly oomKills?: number;
}

/** The kernel counts user and system time in hundredths of a second in version 1. */
const TICK_SECONDS = 0.01;
/** Version 1 says so where there is no limit. */
const NO_LIMIT = 2 ** 62;

export async function readCgroupStats(name: string, version: 1 | 2): Promise<CgroupStats> {
  const found = version === 2 ? await readV2(name) : await readV1(name);
  const entries = Object.entries(found).filter(([, value]) => Number.isFinite(value));
  return Object.fromEntries(entries);
}

async function readV1(name: string): Promise<Record<string, number>> {
  const [cpu, cpuacct, memory, limit, failures, pids, oom] = await Promise.all([
    pairs(join(ROOT, "cpu", name, "cpu.stat")),
    pairs(join(ROOT, "cpuacct", name, "cpuacct.stat")),
    pairs(join(ROOT, "memory", name, "memory.stat")),
    number(join(ROOT, "memory", name, "memory.limit_in_bytes")),
    number(join(ROOT, "memory", name, "memory.failcnt")),
    number(join(ROOT, "pids", name, "pids.current")),
    pairs(join(ROOT, "memory", name, "memory.oom_control")),
  ]);
  return {
    cpuPeriods: cpu("nr_periods"),
    cpuThrottledPeriods: cpu("nr_throttled"),
    cpuThrottledSeconds: cpu("throttled_time") / 1e9,
    cpuUserSeconds: cpuacct("user") * TICK_SECONDS,
    cpuSystemSeconds: cpuacct("system") * TICK_SECONDS,
    memoryRssBytes: memory("total_rss"),
    memoryCacheBytes: memory("total_cache"),
    memoryMappedFileBytes: memory("total_mapped_file"),
    memoryLimitBytes: limit > NO_LIMIT ? 0 : limit,
    memoryFailures: failures,
    processes: pids,
    oomKills: oom("oom_kill"),
  };
}

async function readV2(name: string): Promise<Record<string, number>> {
  const folder = join(ROOT, name);
  const [cpu, memory, limit, pids, events] = await Promise.all([
    pairs(join(folder, "cpu.stat")),
    pairs(join(folder, "memory.stat")),
    readFile(join(folder, "memory.max"), "utf8").catch(() => ""),
    number(join(folder, "pids.current")),
    pairs(join(folder, "memory.events")),
  ]);
  return {
    cpuPeriods: cpu("nr_periods"),
    cpuThrottledPeriods: cpu("nr_throttled"),
    cpuThrottledSeconds: cpu("throttled_usec") / 1e6,
    cpuUserSeconds: cpu("user_usec") / 1e6,
    cpuSystemSeconds: cpu("system_usec") / 1e6,
    memoryRssBytes: memory("anon"),
    memoryCacheBytes: memory("file"),
    memoryMappedFileBytes: memory("file_mapped"),
    memoryLimitBytes: limit.trim() === "max" ? 0 : Number.parseInt(limit, 10),
    memoryFailures: events("max"),
    processes: pids,
    oomKills: events("oom_kill"),
  };
}

async function pairs(path: string): Promise<(name: string) => number> {
  const text = await readFile(path, "utf8").catch(() => "");
  const found = new Map(
    text.split("\n").map((line): [string, number] => {
      const [name = "", value] = line.split(" ");
      return [name, Number(value)];
    }),
  );
  return (name) => found.get(name) ?? Number.NaN;
}

async function number(path: string): Promise<number> {
  return Number.parseInt(await readFile(path, "utf8").catch(() => ""), 10);
}
