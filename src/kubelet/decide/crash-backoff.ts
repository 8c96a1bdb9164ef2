/**
 * How long a container that keeps ending waits before it is started again: 10 s, doubled with each
 * restart up to 5 minutes; one that ran for 10 minutes starts over. The first restart is immediate.
 */

export interface BackoffEntry {
  readonly delayMs: number;
  /** When the delay was last raised. */
  readonly atMs: number;
}

export interface BackoffLimits {
  readonly baseMs: number;
  readonly capMs: number;
}

const CRASH_BACKOFF: BackoffLimits = { baseMs: 10_000, capMs: 300_000 };
/** A container that ran so long starts over, whatever its cap. */
const OVER_MS = 600_000;

/** `crashLoopBackOff.maxContainerRestartPeriod` bounds the first delay, too. */
export function crashLimits(capMs: number): BackoffLimits {
  return { baseMs: Math.min(CRASH_BACKOFF.baseMs, capMs), capMs };
}

export type BackoffDecision =
  | { readonly wait: true; readonly delayMs: number; readonly untilMs: number }
  | { readonly wait: false; readonly next: BackoffEntry };

/** `endedMs`: when the last run ended. Not asked for containers that never ran. */
export function decideBackoff(
  entry: BackoffEntry | undefined,
  endedMs: number,
  nowMs: number,
  { baseMs, capMs }: BackoffLimits = CRASH_BACKOFF,
): BackoffDecision {
  const isOver = entry === undefined || endedMs - entry.atMs > OVER_MS;
  if (isOver) return { wait: false, next: { delayMs: baseMs, atMs: nowMs } };
  const untilMs = endedMs + entry.delayMs;
  if (nowMs < untilMs) return { wait: true, delayMs: entry.delayMs, untilMs };
  return { wait: false, next: { delayMs: Math.min(entry.delayMs * 2, capMs), atMs: nowMs } };
}
