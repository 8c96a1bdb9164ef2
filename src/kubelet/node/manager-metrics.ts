/** Metrics of the CPU, memory and topology manager, under upstream's names. */
import type { Metrics } from "#lib/metrics.ts";

const ADMISSION_MS = Array.from({ length: 15 }, (_, at) => 0.05 * 2 ** at);

export interface CpuCounts {
  /** CPUs that containers without CPUs of their own share. */
  readonly shared: number;
  readonly exclusive: number;
  /** Exclusive CPUs by NUMA node. */
  readonly byNumaNode: ReadonlyMap<number, number>;
}

type Scope = "container" | "pod";
type Boundary = "numa_node" | "physical_cpu";

export interface ManagerMetrics {
  cpuPinning(): void;
  cpuPinningFailed(): void;
  memoryPinning(): void;
  memoryPinningFailed(): void;
  /** Resources that had to be aligned were, or could not be. */
  aligned(scope: Scope, boundary: Boundary, isAligned: boolean): void;
  topologyAdmission(ms: number, isRefused: boolean): void;
  /** What is counted when the page is read. */
  countCpus(read: () => CpuCounts): void;
}

export function addManagerMetrics(metrics: Metrics): ManagerMetrics {
  const count = (name: string, help: string): (() => void) => {
    const counter = metrics.counter({ name: `kubelet_${name}`, help })();
    return () => counter.add(1);
  };
  const labels = ["scope", "boundary"];
  const name = "kubelet_container_aligned_compute_resources";
  const done = metrics.counter({
    ...{ name: `${name}_count`, labels },
    help: "Aligned compute resources that were allocated to containers, by alignment.",
  });
  const failed = metrics.counter({
    ...{ name: `${name}_failure_count`, labels },
    help: "Compute resources of containers that could not be aligned, by alignment.",
  });
  for (const scope of ["container", "pod"]) {
    done(scope, "numa_node").add(0);
    failed(scope, "numa_node").add(0);
  }
  const requests = count(
    "topology_manager_admission_requests_total",
    "Pods whose resources the topology manager was asked to align.",
  );
  const errors = count(
    "topology_manager_admission_errors_total",
    "Pods whose resources could not be aligned.",
  );
  const duration = metrics.histogram({
    name: "kubelet_topology_manager_admission_duration_ms",
    help: "Milliseconds that the topology manager took to admit a pod.",
    buckets: ADMISSION_MS,
  })();
  return {
    cpuPinning: count("cpu_manager_pinning_requests_total", "Requests for CPUs of their own."),
    cpuPinningFailed: count("cpu_manager_pinning_errors_total", "… that failed."),
    memoryPinning: count("memory_manager_pinning_requests_total", "Requests for pinned memory."),
    memoryPinningFailed: count("memory_manager_pinning_errors_total", "… that failed."),
    aligned: (scope, boundary, isAligned) => (isAligned ? done : failed)(scope, boundary).add(1),
    topologyAdmission: (ms, isRefused) => {
      requests();
      if (isRefused) errors();
      duration.observe(ms);
    },
    countCpus: (read) => addCpuCounts(metrics, read),
  };
}

function addCpuCounts(metrics: Metrics, read: () => CpuCounts): void {
  metrics.gaugeOf(
    {
      name: "kubelet_cpu_manager_shared_pool_size_millicores",
      help: "The CPUs that containers without CPUs of their own share, in millicores.",
    },
    () => read().shared * 1000,
  );
  metrics.gaugeOf(
    {
      name: "kubelet_cpu_manager_exclusive_cpu_allocation_count",
      help: "CPUs that belong to one container each.",
    },
    () => read().exclusive,
  );
  metrics.gaugesOf(
    {
      name: "kubelet_cpu_manager_allocation_per_numa",
      help: "CPUs that belong to one container each, by NUMA node.",
      labels: ["numa_node"],
    },
    () => [...read().byNumaNode].map(([node, value]) => ({ labels: [String(node)], value })),
  );
}
