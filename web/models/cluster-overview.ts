/** The figures of the overview: what nodes offer, what pods request, how they do. Pure. */
import { quantityMilliValue, quantityOf, quantityValue } from "../../src/api/meta/quantity.ts";
import type { KubeObject, PodObject } from "./kube-object.ts";

export interface Usage {
  readonly capacity: number;
  readonly requested: number;
}

export interface ClusterOverview {
  readonly nodes: { readonly total: number; readonly ready: number; readonly cordoned: number };
  readonly cpuCores: Usage;
  readonly memoryBytes: Usage;
  readonly pods: Usage;
  /** By phase, in the order of this list. */
  readonly phases: readonly { readonly phase: string; readonly count: number }[];
}

const PHASES = ["Running", "Pending", "Succeeded", "Failed", "Unknown"];

export function clusterOverview(
  nodes: readonly KubeObject[],
  pods: readonly PodObject[],
): ClusterOverview {
  const active = pods.filter(({ status }) => !isOver(status?.phase));
  const capacity = (name: string): number =>
    sum(nodes.map(({ status }) => amountOf(mapOf(status?.allocatable)[name], name)));
  const requested = (name: string): number => sum(active.map((pod) => podRequest(pod, name)));
  const usage = (name: string): Usage => ({
    capacity: capacity(name),
    requested: requested(name),
  });
  return {
    nodes: {
      total: nodes.length,
      ready: nodes.filter(isReady).length,
      cordoned: nodes.filter(({ spec }) => spec?.unschedulable === true).length,
    },
    cpuCores: usage("cpu"),
    memoryBytes: usage("memory"),
    pods: { capacity: capacity("pods"), requested: active.length },
    phases: PHASES.map((phase) => ({
      phase,
      count: pods.filter(({ status }) => (status?.phase ?? "Unknown") === phase).length,
    })).filter(({ count }) => count > 0),
  };
}

export function isReady({ status }: KubeObject): boolean {
  return status?.conditions?.some((c) => c.type === "Ready" && c.status === "True") ?? false;
}

/** As the scheduler counts: all containers together, or the largest init container if that is more. */
function podRequest({ spec }: PodObject, name: string): number {
  const of = (containers: readonly { resources?: ContainerResources }[] = []): number[] =>
    containers.map(({ resources }) => amountOf(resources?.requests?.[name], name));
  const sidecars = spec?.initContainers?.filter((c) => c.restartPolicy === "Always") ?? [];
  const others = spec?.initContainers?.filter((c) => c.restartPolicy !== "Always") ?? [];
  const together = sum(of(spec?.containers)) + sum(of(sidecars));
  return Math.max(together, ...of(others));
}

interface ContainerResources {
  readonly requests?: Readonly<Record<string, string>>;
}

export function bytesText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

function amountOf(text: unknown, name: string): number {
  if (typeof text !== "string") return 0;
  try {
    const quantity = quantityOf(text);
    return name === "cpu" ? quantityMilliValue(quantity) / 1000 : quantityValue(quantity);
  } catch {
    return 0;
  }
}

function isOver(phase: string | undefined): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

function mapOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
