/** What the kernel counts for a cgroup, version 1 or 2. Counters that are not there are left out. */
import { join } from "node:path";
import { type DeviceIo, parseBlkio, parseIoStat } from "./block-io.ts";
import type { ReadText } from "./small-files.ts";

const ROOT = "/sys/fs/cgroup";

export interface CgroupCounters {
  readonly cpuUsageSeconds?: number;
  readonly cpuUserSeconds?: number;
  readonly cpuSystemSeconds?: number;
  readonly cpuPeriods?: number;
  readonly cpuThrottledPeriods?: number;
  readonly cpuThrottledSeconds?: number;
  readonly cpuBurstPeriods?: number;
  readonly cpuBurstSeconds?: number;
  readonly cpuShares?: number;
  readonly cpuPeriodUs?: number;
  /** Left out where there is none. */
  readonly cpuQuotaUs?: number;
  readonly memoryUsageBytes?: number;
  readonly memoryMaxUsageBytes?: number;
  readonly memoryWorkingSetBytes?: number;
  readonly memoryRssBytes?: number;
  readonly memoryCacheBytes?: number;
  readonly memoryMappedFileBytes?: number;
  readonly memoryActiveFileBytes?: number;
  readonly memoryInactiveFileBytes?: number;
  readonly memoryKernelBytes?: number;
  readonly memorySwapBytes?: number;
  readonly memoryFailures?: number;
  readonly pageFaults?: number;
  readonly majorPageFaults?: number;
  readonly oomKills?: number;
  /** Limits are 0 where there is none. */
  readonly memoryLimitBytes?: number;
  readonly memorySwapLimitBytes?: number;
  readonly memoryReservationBytes?: number;
  readonly processes?: number;
  readonly threads?: number;
  readonly threadsMax?: number;
  /** Seconds in which some task waited, or all did. Version 2 only. */
  readonly cpuWaitingSeconds?: number;
  readonly cpuStalledSeconds?: number;
  readonly memoryWaitingSeconds?: number;
  readonly memoryStalledSeconds?: number;
  readonly ioWaitingSeconds?: number;
  readonly ioStalledSeconds?: number;
}

export interface CgroupStats extends CgroupCounters {
  readonly io?: readonly DeviceIo[];
}

/** The content of a file of the cgroup; "" if there is no such file. */
type Content = (file: string) => string;

const V1_FILES: Readonly<Record<string, readonly string[]>> = {
  cpu: ["cpu.stat", "cpu.shares", "cpu.cfs_period_us", "cpu.cfs_quota_us", "cgroup.procs"],
  cpuacct: ["cpuacct.usage", "cpuacct.stat"],
  memory: [
    ...["memory.stat", "memory.usage_in_bytes", "memory.max_usage_in_bytes", "memory.failcnt"],
    ...["memory.kmem.usage_in_bytes", "memory.oom_control", "memory.limit_in_bytes"],
    ...["memory.memsw.limit_in_bytes", "memory.soft_limit_in_bytes"],
  ],
  pids: ["pids.current", "pids.max"],
  blkio: ["bfq", "throttle"].flatMap((by) => [
    `blkio.${by}.io_service_bytes_recursive`,
    `blkio.${by}.io_serviced_recursive`,
  ]),
};
const V2_FILES = [
  ...["cpu.stat", "cpu.weight", "cpu.max", "cgroup.procs", "memory.stat", "memory.current"],
  ...["memory.peak", "memory.events", "memory.max", "memory.min", "memory.swap.current"],
  ...["memory.swap.max", "pids.current", "pids.max", "io.stat"],
  ...["cpu.pressure", "memory.pressure", "io.pressure"],
];

/** The kernel counts user and system time in hundredths of a second in version 1. */
const TICK_SECONDS = 0.01;
/** Version 1 says so where there is no limit. */
const NO_LIMIT = 2 ** 62;

/** Empty if there is no such cgroup. */
export async function readCgroupStats(
  name: string,
  version: 1 | 2,
  read: ReadText,
): Promise<CgroupStats> {
  const paths =
    version === 2
      ? V2_FILES.map((file) => join(ROOT, name, file))
      : Object.entries(V1_FILES).flatMap(([controller, files]) =>
          files.map((file) => join(ROOT, controller, name, file)),
        );
  const texts = await Promise.all(paths.map(read));
  const contents = new Map<string, string>();
  for (const [i, text] of texts.entries()) {
    if (text !== undefined) contents.set(paths[i]!.slice(paths[i]!.lastIndexOf("/") + 1), text);
  }
  return parseCgroupStats(contents, version);
}

/** `contents`: files of the cgroup, of all controllers, by their names. */
export function parseCgroupStats(
  contents: ReadonlyMap<string, string>,
  version: 1 | 2,
): CgroupStats {
  if (contents.size === 0) return {};
  const content: Content = (file) => contents.get(file) ?? "";
  const counters = version === 2 ? countersV2(content) : countersV1(content);
  const io = version === 2 ? parseIoStat(content("io.stat")) : ioV1(content);
  const found = Object.entries(counters).filter(([, value]) => Number.isFinite(value));
  return { ...(Object.fromEntries(found) as CgroupCounters), io };
}

/** As the disk's scheduler counts it, if it is BFQ; others leave it to the layer that throttles. */
function ioV1(content: Content): readonly DeviceIo[] {
  const [bfq = [], throttle = []] = ["bfq", "throttle"].map((by) =>
    parseBlkio(
      content(`blkio.${by}.io_service_bytes_recursive`),
      content(`blkio.${by}.io_serviced_recursive`),
    ),
  );
  return bfq.length > 0 ? bfq : throttle;
}

function countersV1(content: Content): Required<CgroupCounters> {
  const cpu = pairs(content("cpu.stat"));
  const times = pairs(content("cpuacct.stat"));
  const memory = pairs(content("memory.stat"));
  const usage = number(content("memory.usage_in_bytes"));
  const inactive = memory("total_inactive_file");
  const limit = (file: string): number => {
    const bytes = number(content(file));
    // Swap has no limit of its own where the kernel does not account for it.
    return bytes > NO_LIMIT || (Number.isNaN(bytes) && !Number.isNaN(usage)) ? 0 : bytes;
  };
  return {
    cpuUsageSeconds: number(content("cpuacct.usage")) / 1e9,
    cpuUserSeconds: times("user") * TICK_SECONDS,
    cpuSystemSeconds: times("system") * TICK_SECONDS,
    cpuPeriods: cpu("nr_periods"),
    cpuThrottledPeriods: cpu("nr_throttled"),
    cpuThrottledSeconds: cpu("throttled_time") / 1e9,
    cpuBurstPeriods: cpu("nr_bursts"),
    cpuBurstSeconds: cpu("burst_time") / 1e9,
    cpuShares: number(content("cpu.shares")),
    cpuPeriodUs: number(content("cpu.cfs_period_us")),
    cpuQuotaUs: positive(number(content("cpu.cfs_quota_us"))),
    memoryUsageBytes: usage,
    memoryMaxUsageBytes: number(content("memory.max_usage_in_bytes")),
    memoryWorkingSetBytes: workingSet(usage, inactive),
    memoryRssBytes: memory("total_rss"),
    memoryCacheBytes: memory("total_cache"),
    memoryMappedFileBytes: memory("total_mapped_file"),
    memoryActiveFileBytes: memory("total_active_file"),
    memoryInactiveFileBytes: inactive,
    memoryKernelBytes: number(content("memory.kmem.usage_in_bytes")),
    memorySwapBytes: memory("total_swap"),
    memoryFailures: number(content("memory.failcnt")),
    pageFaults: memory("total_pgfault"),
    majorPageFaults: memory("total_pgmajfault"),
    oomKills: pairs(content("memory.oom_control"))("oom_kill"),
    memoryLimitBytes: limit("memory.limit_in_bytes"),
    memorySwapLimitBytes: limit("memory.memsw.limit_in_bytes"),
    memoryReservationBytes: limit("memory.soft_limit_in_bytes"),
    processes: lines(content("cgroup.procs")),
    threads: number(content("pids.current")),
    threadsMax: upTo(content("pids.max")),
    ...NO_PRESSURE,
  };
}

function countersV2(content: Content): Required<CgroupCounters> {
  const cpu = pairs(content("cpu.stat"));
  const memory = pairs(content("memory.stat"));
  const events = pairs(content("memory.events"));
  const [quota = "", period = ""] = content("cpu.max").split(" ");
  const inactive = memory("inactive_file");
  // The root has no memory.current: what its tasks and the page cache use is in memory.stat.
  const current = number(content("memory.current"));
  const usage = Number.isNaN(current) ? memory("anon") + memory("file") : current;
  return {
    cpuUsageSeconds: cpu("usage_usec") / 1e6,
    cpuUserSeconds: cpu("user_usec") / 1e6,
    cpuSystemSeconds: cpu("system_usec") / 1e6,
    cpuPeriods: cpu("nr_periods"),
    cpuThrottledPeriods: cpu("nr_throttled"),
    cpuThrottledSeconds: cpu("throttled_usec") / 1e6,
    cpuBurstPeriods: cpu("nr_bursts"),
    cpuBurstSeconds: cpu("burst_usec") / 1e6,
    cpuShares: sharesOf(number(content("cpu.weight"))),
    cpuPeriodUs: number(period),
    cpuQuotaUs: number(quota),
    memoryUsageBytes: usage,
    memoryMaxUsageBytes: number(content("memory.peak")),
    memoryWorkingSetBytes: workingSet(usage, inactive),
    memoryRssBytes: memory("anon"),
    memoryCacheBytes: memory("file"),
    memoryMappedFileBytes: memory("file_mapped"),
    memoryActiveFileBytes: memory("active_file"),
    memoryInactiveFileBytes: inactive,
    memoryKernelBytes: memory("kernel"),
    memorySwapBytes: number(content("memory.swap.current")),
    memoryFailures: events("max"),
    pageFaults: memory("pgfault"),
    majorPageFaults: memory("pgmajfault"),
    oomKills: events("oom_kill"),
    memoryLimitBytes: upTo(content("memory.max")),
    memorySwapLimitBytes: upTo(content("memory.swap.max")),
    memoryReservationBytes: upTo(content("memory.min")),
    processes: lines(content("cgroup.procs")),
    threads: number(content("pids.current")),
    threadsMax: upTo(content("pids.max")),
    cpuWaitingSeconds: pressure(content("cpu.pressure"), "some"),
    cpuStalledSeconds: pressure(content("cpu.pressure"), "full"),
    memoryWaitingSeconds: pressure(content("memory.pressure"), "some"),
    memoryStalledSeconds: pressure(content("memory.pressure"), "full"),
    ioWaitingSeconds: pressure(content("io.pressure"), "some"),
    ioStalledSeconds: pressure(content("io.pressure"), "full"),
  };
}

const NO_PRESSURE = {
  ...{ cpuWaitingSeconds: Number.NaN, cpuStalledSeconds: Number.NaN },
  ...{ memoryWaitingSeconds: Number.NaN, memoryStalledSeconds: Number.NaN },
  ...{ ioWaitingSeconds: Number.NaN, ioStalledSeconds: Number.NaN },
};

function pairs(text: string): (name: string) => number {
  const found = new Map(
    text.split("\n").map((line): [string, number] => {
      const [name = "", value] = line.split(" ");
      return [name, Number(value)];
    }),
  );
  return (name) => found.get(name) ?? Number.NaN;
}

function number(text: string): number {
  return Number.parseInt(text, 10);
}

function lines(text: string): number {
  return text === "" ? 0 : text.trimEnd().split("\n").length;
}

function positive(value: number): number {
  return value > 0 ? value : Number.NaN;
}

/** 0 where there is no limit. */
function upTo(text: string): number {
  return text.trim() === "max" ? 0 : number(text);
}

function workingSet(usageBytes: number, inactiveBytes: number): number {
  if (Number.isNaN(inactiveBytes)) return usageBytes;
  return Math.max(0, usageBytes - inactiveBytes);
}

/** Weights of 1…10000 stand for shares of 2…262144. */
function sharesOf(weight: number): number {
  return 2 + Math.floor(((weight - 1) * 262_142) / 9_999);
}

/** `some avg10=0.00 avg60=0.00 avg300=0.00 total=12`: the total is in microseconds. */
function pressure(text: string, which: "some" | "full"): number {
  return Number(new RegExp(`^${which} .*total=(\\d+)$`, "m").exec(text)?.[1]) / 1e6;
}
