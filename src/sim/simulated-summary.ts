/** `/stats/summary` of a simulated node: what its pods use by their behaviour. Pure. */
import type { Pod } from "#api/generated/core.v1.ts";
import { microTimeFromMs, timeFromMs, timeToMs } from "#api/meta/time.ts";
import type { ContainerSummary, PodSummary, Summary } from "#kubelet/stats/summary.ts";
import type { Behaviour } from "./behaviour.ts";

const NANO_PER_MILLI = 1_000_000;

export interface SummaryPod {
  readonly pod: Pod;
  readonly behaviour: Behaviour;
}

export function simulatedSummary(
  nodeName: string,
  startTime: string,
  pods: readonly SummaryPod[],
  nowMs: number,
): Summary {
  const summaries = pods.flatMap((one) => podSummary(one, nowMs));
  const sum = (value: (pod: PodSummary) => number | undefined): number =>
    summaries.reduce((total, pod) => total + (value(pod) ?? 0), 0);
  const time = microTimeFromMs(nowMs);
  const memory = sum((pod) => pod.memory?.workingSetBytes);
  return {
    node: {
      ...{ nodeName, startTime },
      cpu: {
        time,
        usageNanoCores: sum((pod) => pod.cpu?.usageNanoCores),
        usageCoreNanoSeconds: sum((pod) => pod.cpu?.usageCoreNanoSeconds),
      },
      memory: { time, usageBytes: memory, workingSetBytes: memory, rssBytes: memory },
    },
    pods: summaries,
  };
}

function podSummary({ pod, behaviour }: SummaryPod, nowMs: number): PodSummary[] {
  const containers = (pod.status.containerStatuses ?? []).flatMap(({ name, state }) =>
    state.running === undefined
      ? []
      : [containerSummary(name, state.running.startedAt ?? timeFromMs(nowMs), behaviour, nowMs)],
  );
  if (containers.length === 0) return [];
  const { name = "", namespace = "", uid = "" } = pod.metadata;
  const time = microTimeFromMs(nowMs);
  const memory = containers.reduce((sum, one) => sum + (one.memory?.workingSetBytes ?? 0), 0);
  return [
    {
      podRef: { name, namespace, uid },
      startTime: pod.status.startTime ?? time,
      containers,
      cpu: {
        time,
        usageNanoCores: containers.reduce((sum, one) => sum + (one.cpu?.usageNanoCores ?? 0), 0),
        usageCoreNanoSeconds: containers.reduce(
          (sum, one) => sum + (one.cpu?.usageCoreNanoSeconds ?? 0),
          0,
        ),
      },
      memory: { time, usageBytes: memory, workingSetBytes: memory, rssBytes: memory },
    },
  ];
}

function containerSummary(
  name: string,
  startTime: string,
  { cpuMilli, memoryBytes }: Behaviour,
  nowMs: number,
): ContainerSummary {
  const time = microTimeFromMs(nowMs);
  const usageNanoCores = cpuMilli * NANO_PER_MILLI;
  const seconds = Math.max(0, nowMs - timeToMs(startTime)) / 1000;
  return {
    ...{ name, startTime },
    cpu: { time, usageNanoCores, usageCoreNanoSeconds: Math.round(usageNanoCores * seconds) },
    memory: {
      ...{ time, usageBytes: memoryBytes, workingSetBytes: memoryBytes, rssBytes: memoryBytes },
    },
  };
}
