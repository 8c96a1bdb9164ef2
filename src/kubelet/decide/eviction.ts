/**
 * Eviction under pressure: which thresholds are crossed, what the node says about it, and which pod
 * has to go. One pod at a time, the one that uses most beyond what it asked for first.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import { quantityOf, quantityValue } from "#api/meta/quantity.ts";
import { podRequests } from "#api/quota/pod-amounts.ts";

export type EvictionSignal =
  | "memory.available"
  | "nodefs.available"
  | "nodefs.inodesFree"
  | "imagefs.available"
  | "imagefs.inodesFree"
  | "pid.available";

export interface Observation {
  readonly available: number;
  readonly capacity: number;
}

export type Observations = Partial<Readonly<Record<EvictionSignal, Observation>>>;

export type PressureSort = "memory" | "disk" | "pid";

export interface Crossed {
  readonly signal: EvictionSignal;
  readonly thresholdBytes: number;
  readonly available: number;
}

export interface PodUsage {
  readonly pod: Pod;
  /** Undefined where it could not be measured. */
  readonly memoryBytes?: number | undefined;
  readonly diskBytes?: number | undefined;
}

const SORTS: Readonly<Record<EvictionSignal, PressureSort>> = {
  "memory.available": "memory",
  "nodefs.available": "disk",
  "nodefs.inodesFree": "disk",
  "imagefs.available": "disk",
  "imagefs.inodesFree": "disk",
  "pid.available": "pid",
};

const RESOURCES: Readonly<Record<PressureSort, string>> = {
  memory: "memory",
  disk: "ephemeral-storage",
  pid: "pids",
};

const CRITICAL_PRIORITY = 2_000_000_000;

/** Memory first, then disks, then processes. */
export function crossedThresholds(
  thresholds: Readonly<Record<string, string>>,
  observations: Observations,
): Crossed[] {
  const crossed: Crossed[] = [];
  for (const signal of Object.keys(SORTS) as EvictionSignal[]) {
    const threshold = thresholds[signal];
    const observed = observations[signal];
    if (threshold === undefined || observed === undefined || observed.capacity === 0) continue;
    const thresholdBytes = threshold.endsWith("%")
      ? Math.floor((observed.capacity * Number(threshold.slice(0, -1))) / 100)
      : quantityValue(quantityOf(threshold));
    const { available } = observed;
    if (available < thresholdBytes) crossed.push({ signal, thresholdBytes, available });
  }
  return crossed;
}

export function pressureOf({ signal }: Pick<Crossed, "signal">): PressureSort {
  return SORTS[signal];
}

/** Static and critical pods stay. */
export function mayEvict({ metadata, spec }: Pod): boolean {
  const isStatic = metadata.annotations?.["kubernetes.io/config.source"] === "file";
  return !isStatic && (spec.priority ?? 0) < CRITICAL_PRIORITY;
}

/** First those that use more than they asked for, then by priority, then by how much more. */
export function rankForEviction(usages: readonly PodUsage[], sort: PressureSort): PodUsage[] {
  const excess = (usage: PodUsage): number => usedOf(usage, sort) - requestOf(usage.pod, sort);
  return usages
    .filter(({ pod }) => mayEvict(pod))
    .sort((a, b) => {
      const [aOver, bOver] = [excess(a) > 0, excess(b) > 0];
      if (aOver !== bOver) return aOver ? -1 : 1;
      const byPriority = (a.pod.spec.priority ?? 0) - (b.pod.spec.priority ?? 0);
      return byPriority !== 0 ? byPriority : excess(b) - excess(a);
    });
}

export function evictionMessage(crossed: Crossed): string {
  const resource = RESOURCES[pressureOf(crossed)];
  const amount = (bytes: number): string =>
    bytes % 1024 === 0 ? `${bytes / 1024}Ki` : String(Math.floor(bytes));
  return `The node was low on resource: ${resource}. Threshold quantity: ${amount(crossed.thresholdBytes)}, available: ${amount(crossed.available)}. `;
}

function usedOf({ memoryBytes = 0, diskBytes = 0 }: PodUsage, sort: PressureSort): number {
  return sort === "memory" ? memoryBytes : sort === "disk" ? diskBytes : 0;
}

function requestOf(pod: Pod, sort: PressureSort): number {
  const text = podRequests(pod)[RESOURCES[sort]];
  return text === undefined ? 0 : quantityValue(quantityOf(text));
}
