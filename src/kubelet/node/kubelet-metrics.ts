/** Metrics of the kubelet under upstream's names. */
import type { Pod } from "#api/generated/core.v1.ts";
import type { Cgroups } from "#host/cgroups.ts";
import { Metrics } from "#lib/metrics.ts";
import type { Clock } from "#lib/time/clock.ts";
import { addManagerMetrics, type ManagerMetrics } from "./manager-metrics.ts";
import { addPlegMetrics, type PlegMetrics } from "./pleg-metrics.ts";
import { addPluginMetrics, type PluginMetrics } from "./plugin-metrics.ts";
import { addPodOriginCounts, type PodCountSources } from "./pod-counts.ts";
import { addPodMetrics, type PodMetrics } from "./pod-metrics.ts";

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const RUNTIME_SECONDS = Array.from({ length: 14 }, (_, at) => 0.005 * 2.5 ** at);
export const POD_START_SECONDS = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800,
  2700, 3600,
];
const STORAGE_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

/** Measures an operation; the failure is the caller's. */
export type Measure = <T>(operation: string, work: () => Promise<T>) => Promise<T>;

/** The same for an operation on a volume. */
export type MeasureStorage = <T>(
  plugin: string,
  operation: "volume_mount" | "volume_unmount",
  work: () => Promise<T>,
) => Promise<T>;

export interface KubeletMetrics {
  /** Calls of the container runtime, by upstream's names of operations. */
  readonly runtimeOperation: Measure;
  readonly podWorker: Measure;
  readonly cgroup: Measure;
  readonly storage: MeasureStorage;
  podStarted(seconds: number): void;
  evicted(signal: string): void;
  readonly managers: ManagerMetrics;
  readonly pleg: PlegMetrics;
  readonly plugins: PluginMetrics;
  readonly pods: PodMetrics;
  /** For families of other parts of this kubelet. */
  readonly registry: Metrics;
  /** What is counted when the page is read. */
  countPods(read: () => readonly Pod[]): void;
  countOrigins(sources: PodCountSources): void;
}

/** The families are part of `shown` from now on. */
export function addKubeletMetrics(
  shown: Metrics | undefined,
  nodeName: string,
  clock: Clock,
): KubeletMetrics {
  const metrics = new Metrics(); // of its own: several kubelets may share a process
  shown?.include(metrics);
  metrics
    .gauge({ name: "kubelet_node_name", help: "The node's name. Always 1.", labels: ["node"] })(
      nodeName,
    )
    .set(1);
  const started = metrics.histogram({
    name: "kubelet_pod_start_duration_seconds",
    help: "Time from the kubelet seeing a pod for the first time to the pod running.",
    buckets: POD_START_SECONDS,
  })();
  const evictions = metrics.counter({
    name: "kubelet_evictions",
    help: "Pods that were evicted, by the signal that was crossed.",
    labels: ["eviction_signal"],
  });
  return {
    runtimeOperation: measureRuntime(metrics, clock),
    podWorker: measured(metrics, clock, {
      name: "kubelet_pod_worker_duration_seconds",
      help: "Time that a pod worker took for one step.",
    }),
    cgroup: measured(metrics, clock, {
      name: "kubelet_cgroup_manager_duration_seconds",
      help: "Time of operations on cgroups.",
    }),
    storage: measureStorage(metrics, clock),
    managers: addManagerMetrics(metrics),
    pleg: addPlegMetrics(metrics, clock),
    plugins: addPluginMetrics(metrics, clock),
    pods: addPodMetrics(metrics),
    registry: metrics,
    podStarted: (seconds) => started.observe(seconds),
    evicted: (signal) => evictions(signal).add(1),
    countPods: (read) => addPodCounts(metrics, read),
    countOrigins: (sources) => addPodOriginCounts(metrics, sources),
  };
}

/** The same cgroups, measured. */
export function measuredCgroups(cgroups: Cgroups, measure: Measure): Cgroups {
  return {
    version: cgroups.version,
    ensure: (name, limits) => measure("create", () => cgroups.ensure(name, limits)),
    remove: (name) => measure("destroy", () => cgroups.remove(name)),
    children: (name) => cgroups.children(name),
    exists: (name) => cgroups.exists(name),
  };
}

function measured(
  metrics: Metrics,
  clock: Clock,
  family: { readonly name: string; readonly help: string },
): Measure {
  const seconds = metrics.histogram({ ...family, labels: ["operation_type"], buckets: SECONDS });
  return async (operation, work) => {
    const startMs = clock.elapsedMs();
    try {
      return await work();
    } finally {
      seconds(operation).observe((clock.elapsedMs() - startMs) / 1000);
    }
  };
}

function measureRuntime(metrics: Metrics, clock: Clock): Measure {
  const labels = ["operation_type"];
  const name = "kubelet_runtime_operations";
  const help = "Calls of the container runtime.";
  const total = metrics.counter({ name: `${name}_total`, help, labels });
  const failed = metrics.counter({ name: `${name}_errors_total`, help: "… that failed.", labels });
  const seconds = metrics.histogram({
    ...{ name: `${name}_duration_seconds`, help: "… and how long they took.", labels },
    buckets: RUNTIME_SECONDS,
  });
  return async (operation, work) => {
    const startMs = clock.elapsedMs();
    total(operation).add(1);
    try {
      return await work();
    } catch (error) {
      failed(operation).add(1);
      throw error;
    } finally {
      seconds(operation).observe((clock.elapsedMs() - startMs) / 1000);
    }
  };
}

function measureStorage(metrics: Metrics, clock: Clock): MeasureStorage {
  const seconds = metrics.histogram({
    name: "storage_operation_duration_seconds",
    help: "Time of operations on volumes.",
    labels: ["migrated", "operation_name", "status", "volume_plugin"],
    buckets: STORAGE_SECONDS,
  });
  return async (plugin, operation, work) => {
    const startMs = clock.elapsedMs();
    const done = (status: string): void =>
      seconds("false", operation, status, plugin).observe((clock.elapsedMs() - startMs) / 1000);
    try {
      const result = await work();
      done("success");
      return result;
    } catch (error) {
      done("fail-unknown");
      throw error;
    }
  };
}

function addPodCounts(metrics: Metrics, read: () => readonly Pod[]): void {
  metrics.gaugeOf(
    { name: "kubelet_running_pods", help: "Pods that have a running sandbox." },
    () => read().filter(({ status }) => status?.phase === "Running").length,
  );
  metrics.gaugesOf(
    {
      name: "kubelet_running_containers",
      help: "Containers by their state.",
      labels: ["container_state"],
    },
    () => {
      const counts = new Map<string, number>();
      for (const { status } of read()) {
        const all = [
          ...(status?.initContainerStatuses ?? []),
          ...(status?.containerStatuses ?? []),
        ];
        for (const { state } of all) {
          const name = state?.running ? "running" : state?.terminated ? "exited" : "created";
          counts.set(name, (counts.get(name) ?? 0) + 1);
        }
      }
      return [...counts].map(([name, value]) => ({ labels: [name], value }));
    },
  );
}
