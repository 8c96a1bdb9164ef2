/**
 * How long a Job waits before it replaces failed pods: 10 s after the first failure, twice as long
 * after each further one, at most 10 min. Failed pods may vanish, so their number is remembered.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import { finishedAtMs } from "../shared/pods.ts";
import { allEarlierFailures } from "./tracked-pod.ts";

const FIRST_MS = 10_000;
const MAX_MS = 600_000;

/** Failures since the last success, of one Job. */
export interface Setbacks {
  readonly uid: string;
  readonly failures: number;
  readonly lastFailureMs: number;
  /** Pods that stand in them but in no status yet: seen again, they are not counted again. */
  readonly seen: ReadonlySet<string>;
}

/** With the pods that ended since the last look and are in no status yet. */
export function setbacksNow(
  known: Setbacks | undefined,
  uid: string,
  succeeded: readonly Pod[],
  failed: readonly Pod[],
): Setbacks {
  const before = known?.uid === uid ? known : undefined;
  const isNew = ({ metadata }: Pod): boolean => before?.seen.has(metadata.uid ?? "") !== true;
  const seen = new Set([...succeeded, ...failed].map(({ metadata }) => metadata.uid ?? ""));
  const failuresMs = failed.filter(isNew).map(finishedAtMs);
  const successesMs = succeeded.filter(isNew).map(finishedAtMs);
  if (successesMs.length > 0) {
    const later = failuresMs.filter((atMs) => atMs > latest(successesMs));
    return { uid, failures: later.length, lastFailureMs: latest(later), seen };
  }
  const failures = (before?.failures ?? 0) + failuresMs.length;
  const lastFailureMs = failuresMs.length > 0 ? latest(failuresMs) : (before?.lastFailureMs ?? 0);
  return { uid, failures, lastFailureMs, seen };
}

export function backOffLeftMs({ failures, lastFailureMs }: Setbacks, nowMs: number): number {
  return leftMs(failures, lastFailureMs, nowMs);
}

/** For one index, whose pods count their predecessors' failures. */
export function indexBackOffLeftMs(lastFailed: Pod | undefined, nowMs: number): number {
  if (lastFailed === undefined) return 0;
  return leftMs(allEarlierFailures(lastFailed) + 1, finishedAtMs(lastFailed), nowMs);
}

function leftMs(failures: number, lastFailureMs: number, nowMs: number): number {
  if (failures === 0) return 0;
  const delayMs = Math.min(FIRST_MS * 2 ** (failures - 1), MAX_MS);
  return Math.max(0, lastFailureMs + delayMs - nowMs);
}

function latest(timesMs: readonly number[]): number {
  return timesMs.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
}
