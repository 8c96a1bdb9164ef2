/**
 * How long a Job waits before it replaces failed pods: 10 s after the first failure, twice as long
 * after each further one, at most 10 min. It is read off the pods alone, so a restart changes nothing.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import { finishedAtMs } from "../pods.ts";
import { allEarlierFailures } from "./tracked-pod.ts";

const FIRST_MS = 10_000;
const MAX_MS = 600_000;

/** Failures count from the last success on. */
export function backOffLeftMs(
  succeeded: readonly Pod[],
  failed: readonly Pod[],
  nowMs: number,
): number {
  const lastSuccessMs = latest(succeeded.map(finishedAtMs));
  const failuresMs = failed.map(finishedAtMs).filter((atMs) => atMs > lastSuccessMs);
  return leftMs(failuresMs.length, latest(failuresMs), nowMs);
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
