/**
 * Many deadlines, one timer: it is set for the earliest one and moved when it fires, so that a deadline
 * that is not reached costs no timer of its own. Without deadlines no timer runs.
 */
import type { Clock, Timer } from "./clock.ts";

export interface Deadline {
  /** By the clock's `elapsedMs`. */
  readonly atMs: number;
  expire(): void;
}

export class Deadlines implements Disposable {
  readonly #clock: Clock;
  readonly #deadlines = new Set<Deadline>();
  #timer: Timer | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(deadline: Deadline): void {
    this.#deadlines.add(deadline);
    if (deadline.atMs < this.#timerAtMs) this.#arm(deadline.atMs);
  }

  delete(deadline: Deadline): void {
    if (this.#deadlines.delete(deadline) && this.#deadlines.size === 0) this.#disarm();
  }

  [Symbol.dispose](): void {
    this.#deadlines.clear();
    this.#disarm();
  }

  #arm(atMs: number): void {
    this.#timer?.cancel();
    this.#timerAtMs = atMs;
    this.#timer = this.#clock.schedule(atMs - this.#clock.elapsedMs(), () => this.#fire());
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerAtMs = Number.POSITIVE_INFINITY;
  }

  #fire(): void {
    this.#timer = undefined;
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#clock.elapsedMs();
    const due = [...this.#deadlines].filter(({ atMs }) => atMs <= nowMs);
    for (const deadline of due) this.#deadlines.delete(deadline);
    for (const deadline of due) deadline.expire();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const { atMs } of this.#deadlines) nextMs = Math.min(nextMs, atMs);
    if (nextMs < this.#timerAtMs) this.#arm(nextMs);
  }
}
