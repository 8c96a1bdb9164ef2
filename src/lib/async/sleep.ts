/**
 * Waiting that can be given up. Every function here ends as soon as its signal aborts, with the
 * signal's reason, and leaves no timer and no listener behind.
 */
import type { Clock } from "../time/clock.ts";

/** The one implementation of `Clock.sleep`, for clocks to use. */
export function sleepOn(
  clock: Pick<Clock, "schedule">,
  delayMs: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.schedule(delayMs, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

export class TimeoutError extends Error {
  override readonly name = "TimeoutError";
  constructor(timeoutMs: number) {
    super(`not done within ${timeoutMs} ms`);
  }
}

/**
 * Runs `work` with a signal that aborts after `timeoutMs` or when `signal` does. Rejects with
 * TimeoutError even if `work` does not listen to its signal.
 */
export async function withTimeout<T>(
  clock: Clock,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal?.reason);
  if (signal?.aborted) onAbort();
  else signal?.addEventListener("abort", onAbort, { once: true });
  const timer = clock.schedule(timeoutMs, () => controller.abort(new TimeoutError(timeoutMs)));
  try {
    return await Promise.race([work(controller.signal), rejectOnAbort(controller.signal)]);
  } finally {
    timer.cancel();
    signal?.removeEventListener("abort", onAbort);
  }
}

/**
 * Calls `task` every `periodMs`, the first time after one period, never twice at once: the next
 * period begins when the task has ended. Returns when the signal aborts; a failing task ends it.
 */
export async function runEvery(
  clock: Clock,
  periodMs: number,
  task: () => Promise<void> | void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await clock.sleep(periodMs, signal);
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
    await task();
  }
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  const rejection = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  rejection.catch(() => undefined); // the race may be over already: avoids an unhandled rejection
  return rejection;
}
