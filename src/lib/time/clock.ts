/**
 * Time, handed in. Nothing outside this folder reads the system's time or sets a timer.
 *
 * Promises of every Clock:
 * 1. `nowMs` is wall time in milliseconds since 1970; it may jump. `elapsedMs` never goes back.
 * 2. `schedule` calls its task once, not before the delay is over, never synchronously, and never
 *    after it was cancelled. Cancelling twice is allowed.
 * 3. `sleep` ends when the delay is over, or rejects with the signal's reason as soon as the signal
 *    aborts (at once if it already has); either way its timer and its listener are gone.
 */
export interface Clock {
  nowMs(): number;
  elapsedMs(): number;
  schedule(delayMs: number, task: () => void): Timer;
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

export interface Timer extends Disposable {
  cancel(): void;
}
