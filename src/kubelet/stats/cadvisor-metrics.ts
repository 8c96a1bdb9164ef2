/** `/metrics/cadvisor`: use of resources by containers, under the names that dashboards read. Pure. */
import type { Pod } from "#api/generated/core.v1.ts";
import type { CgroupStats } from "#host/cgroup-stats.ts";
import type { ContainerStats, PodSandboxStats } from "#kubelet/cri/stats-messages.ts";
import { CONTAINER_NAME, POD_NAME, POD_NAMESPACE, POD_UID } from "#kubelet/runtime/labels.ts";
import { type Family, metricText, type Sample } from "./metric-text.ts";

export interface CadvisorInputs {
  readonly nowMs: number;
  readonly pods: readonly Pod[];
  readonly containers: readonly ContainerStats[];
  readonly sandboxes: readonly PodSandboxStats[];
  /** By the id of the container. */
  readonly cgroups: ReadonlyMap<string, { readonly name: string; readonly stats: CgroupStats }>;
  readonly machine: { readonly cpus: number; readonly memoryBytes: number };
  readonly kernelVersion: string;
  readonly osImage: string;
}

interface Measured {
  readonly labels: Readonly<Record<string, string>>;
  readonly stats: ContainerStats;
  readonly cgroup: CgroupStats;
  readonly startSeconds: number | undefined;
}

type Read = (one: Measured) => number | undefined;

const CONTAINER_FAMILIES: readonly (readonly [
  name: string,
  type: "counter" | "gauge",
  help: string,
  read: Read,
])[] = [
  [
    "container_cpu_user_seconds_total",
    "counter",
    "Cumulative user cpu time consumed in seconds.",
    ({ cgroup }) => cgroup.cpuUserSeconds,
  ],
  [
    "container_cpu_system_seconds_total",
    "counter",
    "Cumulative system cpu time consumed in seconds.",
    ({ cgroup }) => cgroup.cpuSystemSeconds,
  ],
  [
    "container_cpu_cfs_periods_total",
    "counter",
    "Number of elapsed enforcement period intervals.",
    ({ cgroup }) => cgroup.cpuPeriods,
  ],
  [
    "container_cpu_cfs_throttled_periods_total",
    "counter",
    "Number of throttled period intervals.",
    ({ cgroup }) => cgroup.cpuThrottledPeriods,
  ],
  [
    "container_cpu_cfs_throttled_seconds_total",
    "counter",
    "Total time duration the container has been throttled.",
    ({ cgroup }) => cgroup.cpuThrottledSeconds,
  ],
  [
    "container_memory_working_set_bytes",
    "gauge",
    "Current working set in bytes.",
    ({ stats }) => amount(stats.memory?.workingSetBytes),
  ],
  [
    "container_memory_usage_bytes",
    "gauge",
    "Current memory usage in bytes, including all memory regardless of when it was accessed",
    ({ stats }) => amount(stats.memory?.usageBytes),
  ],
  [
    "container_memory_rss",
    "gauge",
    "Size of RSS in bytes.",
    ({ stats, cgroup }) => cgroup.memoryRssBytes ?? amount(stats.memory?.rssBytes),
  ],
  [
    "container_memory_cache",
    "gauge",
    "Number of bytes of page cache memory.",
    ({ cgroup }) => cgroup.memoryCacheBytes,
  ],
  [
    "container_memory_mapped_file",
    "gauge",
    "Size of memory mapped files in bytes.",
    ({ cgroup }) => cgroup.memoryMappedFileBytes,
  ],
  [
    "container_memory_failcnt",
    "counter",
    "Number of memory usage hits limits",
    ({ cgroup }) => cgroup.memoryFailures,
  ],
  [
    "container_memory_swap",
    "gauge",
    "Container swap usage in bytes.",
    ({ stats }) => amount(stats.swap?.swapUsageBytes),
  ],
  [
    "container_oom_events_total",
    "counter",
    "Count of out of memory events observed for the container",
    ({ cgroup }) => cgroup.oomKills,
  ],
  [
    "container_processes",
    "gauge",
    "Number of processes running inside the container.",
    ({ cgroup }) => cgroup.processes,
  ],
  [
    "container_fs_usage_bytes",
    "gauge",
    "Number of bytes that are consumed by the container on this filesystem.",
    ({ stats }) => amount(stats.writableLayer?.usedBytes),
  ],
  [
    "container_fs_inodes_total",
    "gauge",
    "Number of Inodes",
    ({ stats }) => amount(stats.writableLayer?.inodesUsed),
  ],
  [
    "container_spec_memory_limit_bytes",
    "gauge",
    "Memory limit for the container.",
    ({ cgroup }) => cgroup.memoryLimitBytes,
  ],
  [
    "container_start_time_seconds",
    "gauge",
    "Start time of the container since unix epoch in seconds.",
    ({ startSeconds }) => startSeconds,
  ],
];

export function cadvisorMetrics(inputs: CadvisorInputs): string {
  const { nowMs, machine, kernelVersion, osImage } = inputs;
  const measured = inputs.containers.map((stats) => measure(stats, inputs));
  const version = {
    cadvisorRevision: "",
    cadvisorVersion: "",
    dockerVersion: "",
    kernelVersion,
    osVersion: osImage,
  };
  const cpu: Family = {
    ...{ name: "container_cpu_usage_seconds_total", type: "counter" },
    help: "Cumulative cpu time consumed in seconds.",
    samples: measured.flatMap(({ labels, stats }) => {
      const nanoseconds = amount(stats.cpu?.usageCoreNanoSeconds);
      const withCpu = { ...labels, cpu: "total" };
      return nanoseconds === undefined
        ? []
        : [{ labels: withCpu, value: nanoseconds / 1e9, timeMs: nowMs }];
    }),
  };
  const families = CONTAINER_FAMILIES.map(([name, type, help, read]): Family => {
    const samples = measured.flatMap((one): Sample[] => {
      const value = read(one);
      return value === undefined ? [] : [{ labels: one.labels, value, timeMs: nowMs }];
    });
    return { name, type, help, samples };
  });
  return metricText([
    gauge(
      "cadvisor_version_info",
      "A metric with a constant '1' value labeled by kernel version, OS version, docker version, cadvisor version & cadvisor revision.",
      version,
      1,
    ),
    cpu,
    ...families,
    ...networkFamilies(inputs),
    gauge("machine_cpu_cores", "Number of logical CPU cores.", {}, machine.cpus),
    gauge(
      "machine_memory_bytes",
      "Amount of memory installed on the machine.",
      {},
      machine.memoryBytes,
    ),
    gauge(
      "container_scrape_error",
      "1 if there was an error while getting container metrics, 0 otherwise",
      {},
      0,
    ),
  ]);
}

function measure(stats: ContainerStats, { pods, cgroups }: CadvisorInputs): Measured {
  const { id = "", labels = {} } = stats.attributes ?? {};
  const pod = pods.find(({ metadata }) => metadata.uid === labels[POD_UID]);
  const name = labels[CONTAINER_NAME] ?? "";
  const container = [...(pod?.spec.containers ?? []), ...(pod?.spec.initContainers ?? [])].find(
    (one) => one.name === name,
  );
  const status = [
    ...(pod?.status.containerStatuses ?? []),
    ...(pod?.status.initContainerStatuses ?? []),
  ].find((one) => one.name === name);
  const startedAt = status?.state.running?.startedAt;
  const cgroup = cgroups.get(id);
  return {
    labels: {
      container: name,
      id: cgroup?.name ?? "",
      image: container?.image ?? "",
      name: id,
      namespace: labels[POD_NAMESPACE] ?? "",
      pod: labels[POD_NAME] ?? "",
    },
    stats,
    cgroup: cgroup?.stats ?? {},
    startSeconds: startedAt ? Date.parse(startedAt) / 1000 : undefined,
  };
}

type NetworkField = "rxBytes" | "rxErrors" | "txBytes" | "txErrors";
const NETWORK_FAMILIES: readonly (readonly [name: string, help: string, field: NetworkField])[] = [
  ["container_network_receive_bytes_total", "Cumulative count of bytes received", "rxBytes"],
  [
    "container_network_receive_errors_total",
    "Cumulative count of errors encountered while receiving",
    "rxErrors",
  ],
  ["container_network_transmit_bytes_total", "Cumulative count of bytes transmitted", "txBytes"],
  [
    "container_network_transmit_errors_total",
    "Cumulative count of errors encountered while transmitting",
    "txErrors",
  ],
];

/** The network belongs to the pod: the container is empty, as in cAdvisor's series of sandboxes. */
function networkFamilies({ sandboxes, nowMs }: CadvisorInputs): Family[] {
  return NETWORK_FAMILIES.map(([name, help, field]) => ({
    ...{ name, help, type: "counter" },
    samples: sandboxes.flatMap(({ attributes, linux }) => {
      const usage = linux?.network?.defaultInterface;
      const value = amount(usage?.[field]);
      if (usage === undefined || value === undefined) return [];
      const { namespace = "", name: pod = "" } = attributes?.metadata ?? {};
      const labels = {
        ...{ container: "", id: attributes?.id ?? "", image: "", interface: usage.name },
        ...{ name: attributes?.id ?? "", namespace, pod },
      };
      return [{ labels, value, timeMs: nowMs }];
    }),
  }));
}

function gauge(
  name: string,
  help: string,
  labels: Readonly<Record<string, string>>,
  value: number,
): Family {
  return { name, help, type: "gauge", samples: [{ labels, value }] };
}

function amount(value: { readonly value: bigint } | undefined): number | undefined {
  return value === undefined ? undefined : Number(value.value);
}
