/**
 * Eviction thresholds: which are crossed, which are still not resolved (minimum reclaim), and which
 * soft ones have been crossed for as long as their grace period.
 */
import { parseDuration } from "#api/meta/duration.ts";
import { quantityOf, quantityValue } from "#api/meta/quantity.ts";

/** In the order in which they are dealt with: memory first. */
const EVICTION_SIGNALS = [
  "memory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "imagefs.available",
  "imagefs.inodesFree",
  "pid.available",
] as const;
export type EvictionSignal = (typeof EVICTION_SIGNALS)[number];

export interface Threshold {
  readonly signal: EvictionSignal;
  /** A quantity or a percentage of the capacity. */
  readonly value: string;
  /** 0 for hard thresholds. */
  readonly graceMs: number;
  readonly isHard: boolean;
  readonly minimumReclaim: string;
}

export interface Observation {
  readonly available: number;
  readonly capacity: number;
}

export type Observations = Partial<Readonly<Record<EvictionSignal, Observation>>>;

export interface Crossed {
  readonly signal: EvictionSignal;
  readonly isHard: boolean;
  readonly threshold: number;
  readonly available: number;
}

/** When each threshold that is crossed now was crossed first. */
export type CrossedSince = ReadonlyMap<Threshold, number>;

export interface EvictionSettings {
  readonly evictionHard: Readonly<Record<string, string>>;
  readonly evictionSoft: Readonly<Record<string, string>>;
  readonly evictionSoftGracePeriod: Readonly<Record<string, string>>;
  readonly evictionMinimumReclaim: Readonly<Record<string, string>>;
}

export function thresholdsOf(settings: EvictionSettings): Threshold[] {
  const { evictionHard, evictionSoft, evictionSoftGracePeriod, evictionMinimumReclaim } = settings;
  return EVICTION_SIGNALS.flatMap((signal) => {
    const minimumReclaim = evictionMinimumReclaim[signal] ?? "0";
    const grace = parseDuration(evictionSoftGracePeriod[signal] ?? "0s");
    const graceMs = grace.ok ? Number(grace.nanos / 1_000_000n) : 0;
    const hard = evictionHard[signal];
    const soft = evictionSoft[signal];
    return [
      ...(hard === undefined
        ? []
        : [{ signal, value: hard, graceMs: 0, isHard: true, minimumReclaim }]),
      ...(soft === undefined
        ? []
        : [{ signal, value: soft, graceMs, isHard: false, minimumReclaim }]),
    ];
  });
}

/** One that was crossed before counts until more than the minimum to be reclaimed is free. */
export function observeThresholds(
  thresholds: readonly Threshold[],
  observations: Observations,
  before: CrossedSince,
  nowMs: number,
): {
  readonly since: CrossedSince;
  readonly crossed: readonly Crossed[];
  readonly due: readonly Crossed[];
} {
  const since = new Map<Threshold, number>();
  const crossed: Crossed[] = [];
  const due: Crossed[] = [];
  for (const one of thresholds) {
    const observed = observations[one.signal];
    if (observed === undefined || observed.capacity === 0) continue;
    const { available, capacity } = observed;
    const threshold = amountOf(one.value, capacity);
    const firstMs = before.get(one);
    const reclaim = firstMs === undefined ? 0 : amountOf(one.minimumReclaim, capacity);
    if (available >= threshold + reclaim) continue;
    since.set(one, firstMs ?? nowMs);
    const found = { signal: one.signal, isHard: one.isHard, threshold, available };
    crossed.push(found);
    if (nowMs - (firstMs ?? nowMs) >= one.graceMs) due.push(found);
  }
  return { since, crossed, due };
}

function amountOf(text: string, capacity: number): number {
  if (!text.endsWith("%")) return quantityValue(quantityOf(text));
  return Math.floor((capacity * Number(text.slice(0, -1))) / 100);
}
