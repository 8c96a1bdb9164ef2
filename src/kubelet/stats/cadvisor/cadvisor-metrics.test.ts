import assert from "node:assert/strict";
import { test } from "vitest";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import type { CgroupStats } from "#host/cgroup-stats.ts";
import type { MachineFacts } from "#host/machine.ts";
import { containerStats } from "#kubelet/cri/stats-messages.ts";
import type { WriteOf } from "#lib/protobuf/message.ts";
import { build } from "#testing/build.ts";
import { cadvisorMetrics } from "./cadvisor-metrics.ts";
import { cgroupNames, type UsageInputs, usageRows } from "./usage-rows.ts";

const NOW_MS = Date.parse("2030-01-01T00:00:10Z");
const POD_LABELS = {
  "io.kubernetes.pod.name": "web",
  "io.kubernetes.pod.namespace": "shop",
  "io.kubernetes.pod.uid": "u1",
};
const ETH0 = {
  ...{ name: "eth0", rxBytes: 900, rxPackets: 20, rxErrors: 1, rxDropped: 2 },
  ...{ txBytes: 800, txPackets: 10, txErrors: 3, txDropped: 4 },
};
const SPACE = {
  ...{ availableBytes: 60, capacityBytes: 100, usedBytes: 40 },
  ...{ inodes: 10, inodesFree: 6, inodesUsed: 4 },
};
const CGROUP: CgroupStats = {
  ...{ cpuUsageSeconds: 2, cpuPeriods: 5, cpuShares: 102, cpuPeriodUs: 100_000 },
  ...{ memoryWorkingSetBytes: 7, memoryUsageBytes: 8, memoryLimitBytes: 0, pageFaults: 3 },
  io: [{ device: "254:0", bytes: { Read: 4_096, Write: 512 }, operations: { Read: 1, Write: 2 } }],
};

/** As the runtime sends them. */
const statsOf = (stats: WriteOf<typeof containerStats>) =>
  containerStats.decode(containerStats.encode(stats));

const pod = build(podKind, {
  metadata: { name: "web", namespace: "shop", uid: "u1" },
  spec: { containers: [{ name: "main", image: "httpd", resources: {} }] },
  status: {
    startTime: "2030-01-01T00:00:00Z",
    containerStatuses: [
      {
        ...{ name: "main", image: "example.com/httpd:2" },
        state: { running: { startedAt: "2030-01-01T00:00:05Z" } },
      },
    ],
  },
});

const container = statsOf({
  attributes: { id: "c1", labels: { ...POD_LABELS, "io.kubernetes.container.name": "main" } },
  cpu: { usageCoreNanoSeconds: { value: 1_500_000_000n } },
  memory: { workingSetBytes: { value: 6n } },
  writableLayer: { fsId: { mountpoint: "/layers" }, usedBytes: { value: 33n } },
});

const known: Omit<UsageInputs, "cgroups"> = {
  pods: [pod],
  containers: [container],
  sandboxes: [
    { id: "s1", image: "pause:3", createdMs: NOW_MS - 8_000, labels: POD_LABELS, network: [ETH0] },
  ],
  parents: ["/kubepods"],
  machine: {
    ...{ bootMs: 1_000, memoryBytes: 9_999, network: [] },
    filesystem: { device: "/dev/vda", space: SPACE },
  },
  filesystems: new Map([["/layers", { device: "/dev/vdb", space: SPACE }]]),
  podCgroup: ({ metadata }) => `/kubepods/pod${metadata.uid}`,
};

const machine: MachineFacts = {
  ...{ cpus: 4, memoryBytes: 1_000, swapBytes: 0, machineId: "m", systemUuid: "s", bootId: "b" },
  ...{ kernelVersion: "6.1", osImage: "Debian", architecture: "amd64", hostname: "n1" },
  hugePages: {},
};

function linesOf(cgroups: ReadonlyMap<string, CgroupStats>, isIncomplete = false): string[] {
  const text = cadvisorMetrics({
    ...{ nowMs: NOW_MS, rows: usageRows({ ...known, cgroups }), machine, isIncomplete },
    ...{ devices: new Map([["254:0", "/dev/vda"]]), cpus: { physicalCores: 2, sockets: 1 } },
  });
  return text.split("\n");
}

const ALL = new Map(cgroupNames(known).map((name) => [name, CGROUP]));
const CONTAINER =
  'container="main",id="/kubepods/podu1/c1",image="example.com/httpd:2",name="c1",namespace="shop",pod="web"';
const SANDBOX =
  'id="/kubepods/podu1/s1",image="pause:3",interface="eth0",name="s1",namespace="shop",pod="web"';
const OF_POD = 'id="/kubepods/podu1",image="",name="",namespace="shop",pod="web"';

test("cgroupNames: the machine, the parents of pods, pods, containers and sandboxes", () => {
  assert.deepEqual(cgroupNames(known), [
    ...["/", "/kubepods", "/kubepods/podu1", "/kubepods/podu1/c1", "/kubepods/podu1/s1"],
  ]);
});

for (const line of [
  `container_cpu_usage_seconds_total{container="main",cpu="total",${CONTAINER.slice(17)}} 1.5 ${NOW_MS}`,
  `container_cpu_usage_seconds_total{container="",cpu="total",${OF_POD}} 2 ${NOW_MS}`,
  `container_memory_working_set_bytes{${CONTAINER}} 6 ${NOW_MS}`,
  `container_memory_working_set_bytes{container="",${OF_POD}} 7 ${NOW_MS}`,
  `container_memory_usage_bytes{container="",id="/",image="",name="",namespace="",pod=""} 8 ${NOW_MS}`,
  `container_fs_reads_bytes_total{container="main",device="/dev/vda",${CONTAINER.slice(17)}} 4096 ${NOW_MS}`,
  `container_fs_reads_total{container="main",device="/dev/vda",${CONTAINER.slice(17)}} 1 ${NOW_MS}`,
  `container_fs_writes_bytes_total{container="main",device="/dev/vda",${CONTAINER.slice(17)}} 512 ${NOW_MS}`,
  `container_fs_writes_total{container="main",device="/dev/vda",${CONTAINER.slice(17)}} 2 ${NOW_MS}`,
  `container_blkio_device_usage_total{container="",device="/dev/vda",id="/kubepods",image="",major="254",minor="0",name="",namespace="",operation="Write",pod=""} 512 ${NOW_MS}`,
  `container_fs_usage_bytes{container="main",device="/dev/vdb",${CONTAINER.slice(17)}} 33 ${NOW_MS}`,
  `container_fs_usage_bytes{container="",device="/dev/vda",id="/",image="",name="",namespace="",pod=""} 40 ${NOW_MS}`,
  `container_fs_inodes_total{container="main",device="/dev/vdb",${CONTAINER.slice(17)}} 10 ${NOW_MS}`,
  `container_network_receive_packets_total{container="",${SANDBOX}} 20 ${NOW_MS}`,
  `container_network_receive_packets_dropped_total{container="",${SANDBOX}} 2 ${NOW_MS}`,
  `container_network_receive_errors_total{container="",${SANDBOX}} 1 ${NOW_MS}`,
  `container_network_transmit_bytes_total{container="",${SANDBOX}} 800 ${NOW_MS}`,
  `container_network_transmit_packets_dropped_total{container="",${SANDBOX}} 4 ${NOW_MS}`,
  `container_memory_failures_total{container="main",failure_type="pgfault",${CONTAINER.slice(17).replace(',pod="web"', ',pod="web",scope="hierarchy"')}} 3 ${NOW_MS}`,
  `container_spec_cpu_shares{${CONTAINER}} 102`,
  `container_spec_memory_limit_bytes{${CONTAINER}} 0`,
  'container_spec_memory_limit_bytes{container="",id="/",image="",name="",namespace="",pod=""} 9999',
  `container_start_time_seconds{${CONTAINER}} ${NOW_MS / 1000 - 5}`,
  `container_start_time_seconds{container="",${OF_POD}} ${NOW_MS / 1000 - 10}`,
  `container_last_seen{${CONTAINER}} ${NOW_MS / 1000} ${NOW_MS}`,
  'machine_cpu_cores{boot_id="b",machine_id="m",system_uuid="s"} 4',
  'machine_cpu_physical_cores{boot_id="b",machine_id="m",system_uuid="s"} 2',
  "container_scrape_error 0",
]) {
  test(`cadvisorMetrics: ${line.slice(0, line.indexOf(" "))}`, () => {
    assert.ok(linesOf(ALL).includes(line), line);
  });
}

test("cadvisorMetrics: container_cpu_cfs_… only where the CPU time has a quota", () => {
  const periods = (lines: readonly string[]) =>
    lines.filter((line) => line.startsWith("container_cpu_cfs_periods_total{"));
  assert.deepEqual(periods(linesOf(ALL)), []);
  const limited = new Map([["/kubepods/podu1/c1", { ...CGROUP, cpuQuotaUs: 5_000 }]]);
  assert.equal(periods(linesOf(limited)).length, 1);
});

test("cadvisorMetrics: a cgroup that is gone has no row, the container keeps what the runtime says", () => {
  const lines = linesOf(new Map([["/kubepods/podu1", {}]]), true);
  assert.ok(lines.includes(`container_memory_working_set_bytes{${CONTAINER}} 6 ${NOW_MS}`));
  assert.ok(!lines.some((line) => line.includes(`container="",${OF_POD}`)));
  assert.ok(lines.includes("container_scrape_error 1"));
});
