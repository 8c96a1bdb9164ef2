/** The machine's own time. The only file that touches the system's clock and timers. */

import { sleepOn } from "../async/sleep.ts";
import type { Clock, Timer } from "./clock.ts";

/** Longer delays overflow the system's timer and would fire at once. */
const DELAY_MAX_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  elapsedMs: () => performance.now(),
  schedule: (delayMs, task) => new SystemTimer(delayMs, task),
  sleep: (delayMs, signal) => sleepOn(systemClock, delayMs, signal),
};

class SystemTimer implements Timer {
  #handle: NodeJS.Timeout;

  constructor(delayMs: number, task: () => void) {
    this.#handle = this.#arm(Math.max(0, delayMs), task);
  }

  cancel(): void {
    clearTimeout(this.#handle);
  }

  [Symbol.dispose](): void {
    this.cancel();
  }

  #arm(delayMs: number, task: () => void): NodeJS.Timeout {
    if (delayMs <= DELAY_MAX_MS) return setTimeout(task, delayMs);
    return setTimeout(() => {
      this.#handle = this.#arm(delayMs - DELAY_MAX_MS, task);
    }, DELAY_MAX_MS);
  }
}
