import assert from "node:assert/strict";
import { test } from "vitest";
import { parseCgroupStats, readCgroupStats } from "./cgroup-stats.ts";

const V1 = new Map([
  [
    "cpu.stat",
    "nr_periods 10\nnr_throttled 3\nthrottled_time 2500000000\nnr_bursts 0\nburst_time 0\n",
  ],
  ["cpu.shares", "102\n"],
  ["cpu.cfs_period_us", "100000\n"],
  ["cpu.cfs_quota_us", "-1\n"],
  ["cgroup.procs", "12\n13\n"],
  ["cpuacct.usage", "1500000000\n"],
  ["cpuacct.stat", "user 100\nsystem 50\n"],
  [
    "memory.stat",
    "cache 1\nrss 2\ntotal_cache 4096\ntotal_rss 8192\ntotal_mapped_file 16\ntotal_pgfault 7\ntotal_pgmajfault 1\ntotal_inactive_file 1000\ntotal_active_file 500\n",
  ],
  ["memory.usage_in_bytes", "20000\n"],
  ["memory.max_usage_in_bytes", "30000\n"],
  ["memory.failcnt", "2\n"],
  ["memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n"],
  ["memory.limit_in_bytes", "9223372036854771712\n"],
  ["memory.soft_limit_in_bytes", "4096\n"],
  ["pids.current", "5\n"],
  ["pids.max", "max\n"],
  ["blkio.throttle.io_service_bytes_recursive", "254:0 Read 4096\n254:0 Write 8192\nTotal 12288\n"],
  ["blkio.throttle.io_serviced_recursive", "254:0 Read 1\n254:0 Write 2\nTotal 3\n"],
]);

const V2 = new Map([
  [
    "cpu.stat",
    "usage_usec 1500000\nuser_usec 1000000\nsystem_usec 500000\nnr_periods 10\nnr_throttled 3\nthrottled_usec 2500000\n",
  ],
  ["cpu.weight", "4\n"],
  ["cpu.max", "50000 100000\n"],
  ["cgroup.procs", ""],
  [
    "memory.stat",
    "anon 8192\nfile 4096\nfile_mapped 16\nkernel 64\ninactive_file 1000\nactive_file 500\npgfault 7\npgmajfault 1\n",
  ],
  ["memory.current", "20000\n"],
  ["memory.peak", "30000\n"],
  ["memory.events", "low 0\nhigh 0\nmax 2\noom 1\noom_kill 4\n"],
  ["memory.max", "max\n"],
  ["memory.min", "0\n"],
  ["memory.swap.current", "128\n"],
  ["memory.swap.max", "256\n"],
  ["pids.current", "5\n"],
  ["pids.max", "100\n"],
  ["io.stat", "254:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n"],
  [
    "io.pressure",
    "some avg10=0.00 avg60=0.00 avg300=0.00 total=3000000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n",
  ],
]);

const COMMON = {
  ...{ cpuUsageSeconds: 1.5, cpuPeriods: 10, cpuThrottledPeriods: 3, cpuThrottledSeconds: 2.5 },
  ...{ cpuUserSeconds: 1, cpuSystemSeconds: 0.5, cpuPeriodUs: 100_000 },
  ...{ memoryUsageBytes: 20_000, memoryMaxUsageBytes: 30_000, memoryWorkingSetBytes: 19_000 },
  ...{ memoryRssBytes: 8_192, memoryCacheBytes: 4_096, memoryMappedFileBytes: 16 },
  ...{ memoryActiveFileBytes: 500, memoryInactiveFileBytes: 1_000, memoryFailures: 2 },
  ...{ pageFaults: 7, majorPageFaults: 1, oomKills: 4, memoryLimitBytes: 0, threads: 5 },
};

test("parseCgroupStats: the files of cgroup v1; no quota, no limit", () => {
  assert.deepEqual(parseCgroupStats(V1, 1), {
    ...COMMON,
    ...{ cpuShares: 102, cpuBurstPeriods: 0, cpuBurstSeconds: 0 },
    ...{ memorySwapLimitBytes: 0, memoryReservationBytes: 4_096, processes: 2, threadsMax: 0 },
    io: [
      { device: "254:0", bytes: { Read: 4_096, Write: 8_192 }, operations: { Read: 1, Write: 2 } },
    ],
  });
});

test("parseCgroupStats: the files of cgroup v2; a quota, pressure, swap", () => {
  assert.deepEqual(parseCgroupStats(V2, 2), {
    ...COMMON,
    ...{ cpuShares: 80, cpuQuotaUs: 50_000, memoryKernelBytes: 64, memorySwapBytes: 128 },
    ...{ memorySwapLimitBytes: 256, memoryReservationBytes: 0, processes: 0, threadsMax: 100 },
    ...{ ioWaitingSeconds: 3, ioStalledSeconds: 1 },
    io: [
      { device: "254:0", bytes: { Read: 4_096, Write: 8_192 }, operations: { Read: 1, Write: 2 } },
    ],
  });
});

test("parseCgroupStats: disk IO of cgroup v1 as BFQ counts it, if it does", () => {
  const bfq = new Map([
    ["blkio.bfq.io_service_bytes_recursive", "8:0 Read 512\nTotal 512\n"],
    ["blkio.bfq.io_serviced_recursive", "8:0 Read 1\nTotal 1\n"],
  ]);
  assert.deepEqual(parseCgroupStats(new Map([...V1, ...bfq]), 1).io, [
    { device: "8:0", bytes: { Read: 512 }, operations: { Read: 1 } },
  ]);
});

test("parseCgroupStats: memory of the root of cgroup v2 is the sum of anon and file", () => {
  const stats = parseCgroupStats(new Map([["memory.stat", "anon 10\nfile 5\n"]]), 2);
  assert.equal(stats.memoryUsageBytes, 15);
});

test("readCgroupStats: v1 reads each controller's folder; a cgroup that is gone is empty", async () => {
  const paths: string[] = [];
  const none = await readCgroupStats("/kubepods/pod1", 1, async (path) => {
    paths.push(path);
    return undefined;
  });
  assert.deepEqual(none, {});
  assert.ok(paths.includes("/sys/fs/cgroup/memory/kubepods/pod1/memory.stat"));
  const one = await readCgroupStats("/kubepods/pod1", 2, async (path) =>
    path === "/sys/fs/cgroup/kubepods/pod1/pids.current" ? "7\n" : undefined,
  );
  assert.deepEqual(one, { processes: 0, threads: 7, io: [] });
});
