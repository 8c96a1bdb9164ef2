/**
 * Eviction under pressure: what the node says about a crossed threshold, and which pod has to go.
 * One pod at a time, the one that uses most beyond what it asked for first.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import { formatQuantity, quantityFrom, quantityOf, quantityValue } from "#api/meta/quantity.ts";
import { podRequests } from "#api/quota/pod-amounts.ts";
import type { Crossed, EvictionSignal } from "./eviction-thresholds.ts";

export type PressureSort = "memory" | "disk" | "pid";

export interface ContainerUsage {
  readonly name: string;
  readonly memoryBytes: number;
  /** Writable layer and logs. */
  readonly diskBytes: number;
}

export interface PodUsage {
  readonly pod: Pod;
  /** Undefined where nothing could be measured: such a pod goes first. */
  readonly use?: {
    readonly memoryBytes: number;
    /** Writable layers, logs and local volumes. */
    readonly diskBytes: number;
    readonly inodes: number;
    readonly processes: number;
    readonly containers: readonly ContainerUsage[];
  };
}

const PRESSURES: Readonly<Record<EvictionSignal, PressureSort>> = {
  "memory.available": "memory",
  "nodefs.available": "disk",
  "nodefs.inodesFree": "disk",
  "imagefs.available": "disk",
  "imagefs.inodesFree": "disk",
  "pid.available": "pid",
};

const RESOURCES: Readonly<Record<EvictionSignal, string>> = {
  "memory.available": "memory",
  "nodefs.available": "ephemeral-storage",
  "nodefs.inodesFree": "inodes",
  "imagefs.available": "ephemeral-storage",
  "imagefs.inodesFree": "inodes",
  "pid.available": "pids",
};

const CRITICAL_PRIORITY = 2_000_000_000;

export function pressureOf({ signal }: Pick<Crossed, "signal">): PressureSort {
  return PRESSURES[signal];
}

/** `memory`, `ephemeral-storage`, `inodes` or `pids`. */
export function starvedResource({ signal }: Pick<Crossed, "signal">): string {
  return RESOURCES[signal];
}

/** Static and critical pods stay. */
export function mayEvict({ metadata, spec }: Pod): boolean {
  const source = metadata.annotations?.["kubernetes.io/config.source"];
  const isStatic = source === "file" || source === "http";
  return !isStatic && (spec.priority ?? 0) < CRITICAL_PRIORITY;
}

/**
 * First those that use more than they asked for, then by priority, then by how much more. Processes
 * cannot be asked for: there it is priority, then their number.
 */
export function rankForEviction(
  usages: readonly PodUsage[],
  crossed: Pick<Crossed, "signal">,
): PodUsage[] {
  const resource = starvedResource(crossed);
  const excess = ({ pod, use }: PodUsage): number =>
    use === undefined ? Number.POSITIVE_INFINITY : usedOf(use, resource) - requestOf(pod, resource);
  return usages
    .filter(({ pod }) => mayEvict(pod))
    .sort((a, b) => {
      const [aOver, bOver] = [excess(a) > 0, excess(b) > 0];
      if (resource !== "pids" && aOver !== bOver) return aOver ? -1 : 1;
      const byPriority = (a.pod.spec.priority ?? 0) - (b.pod.spec.priority ?? 0);
      if (byPriority !== 0) return byPriority;
      return excess(a) === excess(b) ? 0 : excess(b) - excess(a);
    });
}

/** Names the containers of the pod that use more than they asked for. */
export function evictionMessage(crossed: Crossed, { pod, use }: PodUsage): string {
  const resource = starvedResource(crossed);
  const format =
    resource === "memory" || resource === "ephemeral-storage" ? "BinarySI" : "DecimalSI";
  const amount = (value: number): string => formatQuantity(quantityFrom(Math.floor(value), format));
  const containers = [...(pod.spec.containers ?? []), ...(pod.spec.initContainers ?? [])];
  const excesses = (use?.containers ?? []).flatMap(({ name, memoryBytes, diskBytes }) => {
    const container = containers.find((one) => one.name === name);
    if (container === undefined || format === "DecimalSI") return [];
    const used = resource === "memory" ? memoryBytes : diskBytes;
    const request = container.resources?.requests?.[resource] ?? "0";
    if (used <= quantityValue(quantityOf(request))) return [];
    return [
      `Container ${name} was using ${amount(used)}, request is ${request}, has larger consumption of ${resource}. `,
    ];
  });
  return `The node was low on resource: ${resource}. Threshold quantity: ${amount(crossed.threshold)}, available: ${amount(crossed.available)}. ${excesses.join("")}`;
}

function usedOf(use: NonNullable<PodUsage["use"]>, resource: string): number {
  switch (resource) {
    case "memory":
      return use.memoryBytes;
    case "ephemeral-storage":
      return use.diskBytes;
    case "inodes":
      return use.inodes;
    default:
      return use.processes;
  }
}

function requestOf(pod: Pod, resource: string): number {
  const text = podRequests(pod)[resource];
  return text === undefined ? 0 : quantityValue(quantityOf(text));
}
