/** The families of cAdvisor that `/metrics/cadvisor` has for each cgroup, under its names. Pure. */
import type { InterfaceUsage } from "#host/network-usage.ts";
import {
  CGROUP_FAMILIES,
  type CgroupFamily,
  QUOTA_FAMILIES,
  SETTING_FAMILIES,
} from "./cgroup-families.ts";
import type { RowValue, UsageRow } from "./usage-row.ts";

export interface ContainerFamily {
  readonly name: string;
  readonly type: "counter" | "gauge";
  readonly help: string;
  /** Settings of a cgroup have no time of measurement. */
  readonly isSetting?: boolean;
  read(row: UsageRow, at: ReadAt): readonly RowValue[];
}

export interface ReadAt {
  readonly nowSeconds: number;
  /** `254:0` → `/dev/vda` */
  deviceName(device: string): string;
}

const CPU_USAGE: ContainerFamily = {
  name: "container_cpu_usage_seconds_total",
  type: "counter",
  help: "Cumulative cpu time consumed in seconds.",
  read: ({ cgroup, runtime }) => {
    const nanoseconds = amount(runtime?.cpu?.usageCoreNanoSeconds);
    const value = nanoseconds === undefined ? cgroup.cpuUsageSeconds : nanoseconds / 1e9;
    return [{ value, labels: { cpu: "total" } }];
  },
};

/** A container's memory as its runtime counts it, of others as the cgroup does. */
const MEMORY_FAMILIES: readonly ContainerFamily[] = [
  {
    name: "container_memory_working_set_bytes",
    type: "gauge",
    help: "Current working set in bytes.",
    read: ({ runtime, cgroup }) => [
      { value: amount(runtime?.memory?.workingSetBytes) ?? cgroup.memoryWorkingSetBytes },
    ],
  },
  {
    name: "container_memory_usage_bytes",
    type: "gauge",
    help: "Current memory usage in bytes, including all memory regardless of when it was accessed",
    read: ({ runtime, cgroup }) => [
      { value: amount(runtime?.memory?.usageBytes) ?? cgroup.memoryUsageBytes },
    ],
  },
  {
    name: "container_memory_rss",
    type: "gauge",
    help: "Size of RSS in bytes.",
    read: ({ runtime, cgroup }) => [
      { value: cgroup.memoryRssBytes ?? amount(runtime?.memory?.rssBytes) },
    ],
  },
  {
    name: "container_memory_swap",
    type: "gauge",
    help: "Container swap usage in bytes.",
    read: ({ runtime, cgroup }) => [
      { value: cgroup.memorySwapBytes ?? amount(runtime?.swap?.swapUsageBytes) },
    ],
  },
  {
    name: "container_memory_failures_total",
    type: "counter",
    help: "Cumulative count of memory allocation failures.",
    // The kernel's counters include cgroups below: both scopes have the same value, as in cAdvisor.
    read: ({ cgroup: { pageFaults, majorPageFaults } }) =>
      ["container", "hierarchy"].flatMap((scope) => [
        { value: pageFaults, labels: { failure_type: "pgfault", scope } },
        { value: majorPageFaults, labels: { failure_type: "pgmajfault", scope } },
      ]),
  },
];

const DISK_FAMILIES: readonly ContainerFamily[] = [
  disk("container_fs_reads_bytes_total", "Cumulative count of bytes read", "bytes", "Read"),
  disk("container_fs_reads_total", "Cumulative count of reads completed", "operations", "Read"),
  disk("container_fs_writes_bytes_total", "Cumulative count of bytes written", "bytes", "Write"),
  disk("container_fs_writes_total", "Cumulative count of writes completed", "operations", "Write"),
  {
    name: "container_blkio_device_usage_total",
    type: "counter",
    help: "Blkio Device bytes usage",
    read: ({ cgroup }, at) =>
      (cgroup.io ?? []).flatMap(({ device, bytes }) => {
        const [major = "", minor = ""] = device.split(":");
        return Object.entries(bytes).map(([operation, value]) => ({
          value,
          labels: { device: at.deviceName(device), major, minor, operation },
        }));
      }),
  },
];

function disk(
  name: string,
  help: string,
  table: "bytes" | "operations",
  operation: "Read" | "Write",
): ContainerFamily {
  return {
    ...{ name, help, type: "counter" },
    read: ({ cgroup }, at) =>
      (cgroup.io ?? []).map(({ device, ...counts }) => ({
        value: counts[table][operation] ?? 0,
        labels: { device: at.deviceName(device) },
      })),
  };
}

const FILESYSTEM_FAMILIES: readonly ContainerFamily[] = [
  filesystem(
    "container_fs_usage_bytes",
    "Number of bytes that are consumed by the container on this filesystem.",
    ({ usedBytes }) => usedBytes,
  ),
  filesystem(
    "container_fs_limit_bytes",
    "Number of bytes that can be consumed by the container on this filesystem.",
    ({ space }) => space.capacityBytes,
  ),
  filesystem("container_fs_inodes_total", "Number of Inodes", ({ space }) => space.inodes),
  filesystem(
    "container_fs_inodes_free",
    "Number of available Inodes",
    ({ space }) => space.inodesFree,
  ),
];

function filesystem(
  name: string,
  help: string,
  read: (of: NonNullable<UsageRow["filesystem"]>) => number | undefined,
): ContainerFamily {
  return {
    ...{ name, help, type: "gauge" },
    read: ({ filesystem: of }) =>
      of === undefined ? [] : [{ value: read(of), labels: { device: of.device } }],
  };
}

const NETWORK_FAMILIES: readonly ContainerFamily[] = (["receive", "transmit"] as const).flatMap(
  (direction) => {
    const isIn = direction === "receive";
    const done = isIn ? "received" : "transmitted";
    const doing = isIn ? "receiving" : "transmitting";
    const name = `container_network_${direction}`;
    return [
      network(`${name}_bytes_total`, `bytes ${done}`, isIn ? "rxBytes" : "txBytes"),
      network(`${name}_packets_total`, `packets ${done}`, isIn ? "rxPackets" : "txPackets"),
      network(
        `${name}_packets_dropped_total`,
        `packets dropped while ${doing}`,
        isIn ? "rxDropped" : "txDropped",
      ),
      network(
        `${name}_errors_total`,
        `errors encountered while ${doing}`,
        isIn ? "rxErrors" : "txErrors",
      ),
    ];
  },
);

function network(
  name: string,
  what: string,
  field: Exclude<keyof InterfaceUsage, "name">,
): ContainerFamily {
  return {
    ...{ name, type: "counter", help: `Cumulative count of ${what}` },
    read: ({ network: interfaces = [] }) =>
      interfaces.map((one) => ({ value: one[field], labels: { interface: one.name } })),
  };
}

const LIFE_FAMILIES: readonly ContainerFamily[] = [
  {
    name: "container_start_time_seconds",
    type: "gauge",
    help: "Start time of the container since unix epoch in seconds.",
    isSetting: true,
    read: ({ startSeconds }) => [{ value: startSeconds }],
  },
  {
    name: "container_last_seen",
    type: "gauge",
    help: "Last time a container was seen by the exporter",
    read: (_row, { nowSeconds }) => [{ value: Math.floor(nowSeconds) }],
  },
];

export const CONTAINER_FAMILIES: readonly ContainerFamily[] = [
  CPU_USAGE,
  ...CGROUP_FAMILIES.map((family) => ofCgroup(family)),
  ...QUOTA_FAMILIES.map((family) => ({
    ...ofCgroup(family),
    read: ({ cgroup }: UsageRow) =>
      cgroup.cpuQuotaUs === undefined ? [] : [{ value: cgroup[family.counter] }],
  })),
  ...MEMORY_FAMILIES,
  ...DISK_FAMILIES,
  ...FILESYSTEM_FAMILIES,
  ...NETWORK_FAMILIES,
  ...SETTING_FAMILIES.map((family) => ({ ...ofCgroup(family), isSetting: true })),
  ...LIFE_FAMILIES,
];

function ofCgroup({ counter, ...family }: CgroupFamily): ContainerFamily {
  return { ...family, read: ({ cgroup }) => [{ value: cgroup[counter] }] };
}

function amount(value: { readonly value: bigint } | undefined): number | undefined {
  return value === undefined ? undefined : Number(value.value);
}
