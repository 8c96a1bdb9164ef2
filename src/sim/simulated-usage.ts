/**
 * What the pods of a simulated node use by their behaviour, as figures: what a metrics server in the same
 * process would otherwise read from the text of `/metrics/resource`. Pure.
 */
import { timeToMs } from "#api/meta/time.ts";
import type { SummaryPod } from "./simulated-summary.ts";

/** Processor time is cumulative. */
export interface SimulatedPoint {
  readonly timeMs: number;
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  /** 0 for nodes. */
  readonly startMs: number;
}

export interface SimulatedUsage {
  readonly node: SimulatedPoint;
  /** By `namespace/name` of the pod, then by container. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, SimulatedPoint>>;
}

export function simulatedUsage(pods: Iterable<SummaryPod>, nowMs: number): SimulatedUsage {
  const found = new Map<string, Map<string, SimulatedPoint>>();
  let cpuSeconds = 0;
  let memoryBytes = 0;
  for (const { pod, behaviour } of pods) {
    const containers = new Map<string, SimulatedPoint>();
    for (const { name, state } of pod.status.containerStatuses ?? []) {
      if (state.running === undefined) continue;
      const { startedAt } = state.running;
      const startMs = startedAt ? timeToMs(startedAt) : nowMs;
      const seconds = Math.max(0, nowMs - startMs) / 1000;
      const point = {
        ...{ timeMs: nowMs, startMs, memoryBytes: behaviour.memoryBytes },
        cpuSeconds: (behaviour.cpuMilli / 1000) * seconds,
      };
      cpuSeconds += point.cpuSeconds;
      memoryBytes += point.memoryBytes;
      containers.set(name, point);
    }
    const { namespace = "", name = "" } = pod.metadata;
    if (containers.size > 0) found.set(`${namespace}/${name}`, containers);
  }
  return { node: { timeMs: nowMs, cpuSeconds, memoryBytes, startMs: 0 }, pods: found };
}
