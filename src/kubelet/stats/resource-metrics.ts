/** `/metrics/resource`: what the metrics server reads, under upstream's names. Pure. */
import { type Family, metricText, type Sample } from "./metric-text.ts";
import type { CpuStats, MemoryStats, Summary, SwapStats } from "./summary.ts";

export function resourceMetrics({ node, pods }: Summary): string {
  const containers = pods.flatMap(({ podRef: { namespace, name }, containers: own }) =>
    own.map((container) => ({
      labels: { container: container.name, namespace, pod: name },
      container,
    })),
  );
  const podLabels = pods.map((pod) => {
    const { namespace, name } = pod.podRef;
    return { labels: { namespace, pod: name }, pod };
  });
  const families: Family[] = [
    {
      ...describe(
        "container_cpu_usage_seconds_total",
        "counter",
        "Cumulative cpu time consumed by the container in core-seconds",
      ),
      samples: containers.flatMap(({ labels, container }) => cpu(labels, container.cpu)),
    },
    {
      ...describe(
        "container_memory_working_set_bytes",
        "gauge",
        "Current working set of the container in bytes",
      ),
      samples: containers.flatMap(({ labels, container }) => memory(labels, container.memory)),
    },
    {
      ...describe(
        "container_start_time_seconds",
        "gauge",
        "Start time of the container since unix epoch in seconds",
      ),
      samples: containers.map(({ labels, container }) => ({
        labels,
        value: Date.parse(container.startTime) / 1000,
      })),
    },
    {
      ...describe(
        "container_swap_limit_bytes",
        "gauge",
        "Current amount of the container swap limit in bytes. Reported only on non-windows systems",
        "ALPHA",
      ),
      samples: containers.flatMap(({ labels, container: { swap } }) => {
        if (swap?.swapAvailableBytes === undefined) return [];
        return swapSample(labels, swap, swap.swapAvailableBytes + (swap.swapUsageBytes ?? 0));
      }),
    },
    {
      ...describe(
        "container_swap_usage_bytes",
        "gauge",
        "Current amount of the container swap usage in bytes. Reported only on non-windows systems",
        "ALPHA",
      ),
      samples: containers.flatMap(({ labels, container: { swap } }) =>
        swapSample(labels, swap, swap?.swapUsageBytes),
      ),
    },
    {
      ...describe(
        "node_cpu_usage_seconds_total",
        "counter",
        "Cumulative cpu time consumed by the node in core-seconds",
      ),
      samples: cpu({}, node.cpu),
    },
    {
      ...describe(
        "node_memory_working_set_bytes",
        "gauge",
        "Current working set of the node in bytes",
      ),
      samples: memory({}, node.memory),
    },
    {
      ...describe(
        "node_swap_usage_bytes",
        "gauge",
        "Current swap usage of the node in bytes. Reported only on non-windows systems",
        "ALPHA",
      ),
      samples: swapSample({}, node.swap, node.swap?.swapUsageBytes),
    },
    {
      ...describe(
        "pod_cpu_usage_seconds_total",
        "counter",
        "Cumulative cpu time consumed by the pod in core-seconds",
      ),
      samples: podLabels.flatMap(({ labels, pod }) => cpu(labels, pod.cpu)),
    },
    {
      ...describe(
        "pod_memory_working_set_bytes",
        "gauge",
        "Current working set of the pod in bytes",
      ),
      samples: podLabels.flatMap(({ labels, pod }) => memory(labels, pod.memory)),
    },
    {
      ...describe(
        "pod_swap_usage_bytes",
        "gauge",
        "Current amount of the pod swap usage in bytes. Reported only on non-windows systems",
        "ALPHA",
      ),
      samples: podLabels.flatMap(({ labels, pod: { swap } }) =>
        swapSample(labels, swap, swap?.swapUsageBytes),
      ),
    },
    {
      ...describe(
        "resource_scrape_error",
        "gauge",
        "1 if there was an error while getting container metrics, 0 otherwise",
      ),
      samples: [{ labels: {}, value: 0 }],
    },
  ];
  return metricText(families);
}

function describe(
  name: string,
  type: Family["type"],
  help: string,
  stability = "STABLE",
): Omit<Family, "samples"> {
  return { name, type, help: `[${stability}] ${help}` };
}

function swapSample(
  labels: Sample["labels"],
  stats: SwapStats | undefined,
  value: number | undefined,
): Sample[] {
  if (stats === undefined || value === undefined) return [];
  return [{ labels, value, timeMs: Date.parse(stats.time) }];
}

function cpu(labels: Sample["labels"], stats: CpuStats | undefined): Sample[] {
  if (stats === undefined) return [];
  return [{ labels, value: stats.usageCoreNanoSeconds / 1e9, timeMs: Date.parse(stats.time) }];
}

function memory(labels: Sample["labels"], stats: MemoryStats | undefined): Sample[] {
  if (stats === undefined) return [];
  return [{ labels, value: stats.workingSetBytes, timeMs: Date.parse(stats.time) }];
}
