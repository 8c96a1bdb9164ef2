/**
 * What one scrape of a kubelet's `/metrics/resource` says: usage of the node and of the containers of its
 * pods. Pure. A pod is left out unless each of its containers has processor time and memory, and memory
 * that is not zero: a container that is being created or has ended is not measured.
 */
import { labelsOf, metricLines } from "./metric-lines.ts";

/** Processor time is cumulative. */
export interface UsagePoint {
  readonly timeMs: number;
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  /** Of the container; 0 where the kubelet does not say, and for nodes. */
  readonly startMs: number;
}

export interface NodeSample {
  readonly node: UsagePoint | undefined;
  /** By `namespace/name` of the pod, then by container. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, UsagePoint>>;
}

type Draft = { -readonly [Field in keyof UsagePoint]: UsagePoint[Field] | undefined };

export function readNodeSample(text: string, nowMs: number): NodeSample {
  const node = emptyPoint();
  const containers = new Map<string, Draft>();
  for (const { name, labelText, value, timeMs = nowMs } of metricLines(text)) {
    const field = FIELDS.get(name);
    if (field === undefined) continue;
    const point = name.startsWith("node_") ? node : pointOf(containers, labelText);
    if (field === "startMs") point.startMs = value * 1000;
    else {
      point[field] = value;
      point.timeMs = timeMs;
    }
  }
  return { node: complete(node), pods: podsOf(containers) };
}

const FIELDS: ReadonlyMap<string, "cpuSeconds" | "memoryBytes" | "startMs"> = new Map([
  ["node_cpu_usage_seconds_total", "cpuSeconds"],
  ["node_memory_working_set_bytes", "memoryBytes"],
  ["container_cpu_usage_seconds_total", "cpuSeconds"],
  ["container_memory_working_set_bytes", "memoryBytes"],
  ["container_start_time_seconds", "startMs"],
]);

function emptyPoint(): Draft {
  return { timeMs: undefined, cpuSeconds: undefined, memoryBytes: undefined, startMs: undefined };
}

function pointOf(containers: Map<string, Draft>, labelText: string): Draft {
  let point = containers.get(labelText);
  if (point === undefined) {
    point = emptyPoint();
    containers.set(labelText, point);
  }
  return point;
}

function complete({ timeMs, cpuSeconds, memoryBytes, startMs = 0 }: Draft): UsagePoint | undefined {
  if (timeMs === undefined || cpuSeconds === undefined || !memoryBytes) return undefined;
  return { timeMs, cpuSeconds, memoryBytes, startMs };
}

function podsOf(drafts: ReadonlyMap<string, Draft>): Map<string, Map<string, UsagePoint>> {
  const pods = new Map<string, Map<string, UsagePoint>>();
  const incomplete = new Set<string>();
  for (const [labelText, draft] of drafts) {
    const { namespace, pod, container } = labelsOf(labelText);
    if (namespace === undefined || pod === undefined || container === undefined) continue;
    const key = `${namespace}/${pod}`;
    const point = complete(draft);
    if (point === undefined) {
      incomplete.add(key);
      continue;
    }
    const containers = pods.get(key);
    if (containers === undefined) pods.set(key, new Map([[container, point]]));
    else containers.set(container, point);
  }
  for (const key of incomplete) pods.delete(key);
  return pods;
}
