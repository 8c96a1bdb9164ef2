/** The families of cAdvisor that are one counter or setting of a cgroup each, under its names. */
import type { CgroupCounters } from "#host/cgroup-stats.ts";

export interface CgroupFamily {
  readonly name: string;
  readonly type: "counter" | "gauge";
  readonly counter: keyof CgroupCounters;
  readonly help: string;
}

const counter = (name: string, of: CgroupFamily["counter"], help: string): CgroupFamily => ({
  ...{ name, type: "counter", counter: of, help },
});

const gauge = (name: string, of: CgroupFamily["counter"], help: string): CgroupFamily => ({
  ...{ name, type: "gauge", counter: of, help },
});

export const CGROUP_FAMILIES: readonly CgroupFamily[] = [
  counter(
    "container_cpu_user_seconds_total",
    "cpuUserSeconds",
    "Cumulative user cpu time consumed in seconds.",
  ),
  counter(
    "container_cpu_system_seconds_total",
    "cpuSystemSeconds",
    "Cumulative system cpu time consumed in seconds.",
  ),
  gauge("container_memory_cache", "memoryCacheBytes", "Number of bytes of page cache memory."),
  gauge(
    "container_memory_mapped_file",
    "memoryMappedFileBytes",
    "Size of memory mapped files in bytes.",
  ),
  gauge(
    "container_memory_kernel_usage",
    "memoryKernelBytes",
    "Size of kernel memory allocated in bytes.",
  ),
  gauge(
    "container_memory_max_usage_bytes",
    "memoryMaxUsageBytes",
    "Maximum memory usage recorded in bytes",
  ),
  gauge(
    "container_memory_total_active_file_bytes",
    "memoryActiveFileBytes",
    "Current total active file in bytes.",
  ),
  gauge(
    "container_memory_total_inactive_file_bytes",
    "memoryInactiveFileBytes",
    "Current total inactive file in bytes.",
  ),
  counter("container_memory_failcnt", "memoryFailures", "Number of memory usage hits limits"),
  counter(
    "container_oom_events_total",
    "oomKills",
    "Count of out of memory events observed for the container",
  ),
  gauge("container_processes", "processes", "Number of processes running inside the container."),
  gauge("container_threads", "threads", "Number of threads running inside the container"),
  gauge(
    "container_threads_max",
    "threadsMax",
    "Maximum number of threads allowed inside the container, infinity if value is zero",
  ),
  counter(
    "container_pressure_cpu_stalled_seconds_total",
    "cpuStalledSeconds",
    "Total time duration no tasks in the container could make progress due to CPU congestion.",
  ),
  counter(
    "container_pressure_cpu_waiting_seconds_total",
    "cpuWaitingSeconds",
    "Total time duration tasks in the container have waited due to CPU congestion.",
  ),
  counter(
    "container_pressure_memory_stalled_seconds_total",
    "memoryStalledSeconds",
    "Total time duration no tasks in the container could make progress due to memory congestion.",
  ),
  counter(
    "container_pressure_memory_waiting_seconds_total",
    "memoryWaitingSeconds",
    "Total time duration tasks in the container have waited due to memory congestion.",
  ),
  counter(
    "container_pressure_io_stalled_seconds_total",
    "ioStalledSeconds",
    "Total time duration no tasks in the container could make progress due to IO congestion.",
  ),
  counter(
    "container_pressure_io_waiting_seconds_total",
    "ioWaitingSeconds",
    "Total time duration tasks in the container have waited due to IO congestion.",
  ),
];

/** Only of cgroups whose CPU time has a quota. */
export const QUOTA_FAMILIES: readonly CgroupFamily[] = [
  counter(
    "container_cpu_cfs_periods_total",
    "cpuPeriods",
    "Number of elapsed enforcement period intervals.",
  ),
  counter(
    "container_cpu_cfs_throttled_periods_total",
    "cpuThrottledPeriods",
    "Number of throttled period intervals.",
  ),
  counter(
    "container_cpu_cfs_throttled_seconds_total",
    "cpuThrottledSeconds",
    "Total time duration the container has been throttled.",
  ),
  counter(
    "container_cpu_cfs_burst_periods_total",
    "cpuBurstPeriods",
    "Number of periods when burst occurs.",
  ),
  counter(
    "container_cpu_cfs_burst_seconds_total",
    "cpuBurstSeconds",
    "Total time duration the container has been bursted.",
  ),
];

/** They have no time of measurement. */
export const SETTING_FAMILIES: readonly CgroupFamily[] = [
  gauge("container_spec_cpu_period", "cpuPeriodUs", "CPU period of the container."),
  gauge("container_spec_cpu_quota", "cpuQuotaUs", "CPU quota of the container."),
  gauge("container_spec_cpu_shares", "cpuShares", "CPU share of the container."),
  gauge("container_spec_memory_limit_bytes", "memoryLimitBytes", "Memory limit for the container."),
  gauge(
    "container_spec_memory_swap_limit_bytes",
    "memorySwapLimitBytes",
    "Memory swap limit for the container.",
  ),
  gauge(
    "container_spec_memory_reservation_limit_bytes",
    "memoryReservationBytes",
    "Memory reservation limit for the container.",
  ),
];
