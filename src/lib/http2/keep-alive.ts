/**
 * Finds out whether the other side still answers: after `idleMs` in which nothing came it is sent a
 * PING, and when nothing comes within `answerMs` after that, the connection is given up. Without open
 * streams nothing is sent and no timer runs. Servers end connections that ping too often, so there
 * are SPACING_MS between two pings at least.
 */
import type { Clock, Timer } from "#lib/time/clock.ts";

const SPACING_MS = 5_000;

export interface KeepAliveTimes {
  readonly idleMs: number;
  readonly answerMs: number;
}

export interface KeepAliveOptions extends KeepAliveTimes {
  readonly clock: Clock;
  /** Whether there is a stream that something could come for. */
  isNeeded(): boolean;
  ping(): void;
  giveUp(): void;
}

export class KeepAlive {
  readonly #options: KeepAliveOptions;
  #receivedAtMs: number;
  #pingedAtMs: number | undefined;
  #lastPingMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;

  constructor(options: KeepAliveOptions) {
    this.#options = options;
    this.#receivedAtMs = options.clock.elapsedMs();
  }

  /** Something came. */
  received(): void {
    this.#receivedAtMs = this.#options.clock.elapsedMs();
    this.#pingedAtMs = undefined;
  }

  /** A stream was opened. */
  start(): void {
    if (this.#timer !== undefined) return;
    // Silence before the stream was there says nothing about the other side.
    this.#receivedAtMs = this.#options.clock.elapsedMs();
    this.#arm(this.#options.idleMs);
  }

  /** There is reason to doubt: asks at once instead of after `idleMs`. */
  check(): void {
    const isDue = this.#options.clock.elapsedMs() - this.#lastPingMs >= SPACING_MS;
    if (this.#pingedAtMs === undefined && isDue) this.#ping();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #ping(): void {
    const { clock, answerMs, ping } = this.#options;
    this.#pingedAtMs = clock.elapsedMs();
    this.#lastPingMs = this.#pingedAtMs;
    ping();
    this.stop();
    this.#arm(answerMs);
  }

  #arm(delayMs: number): void {
    this.#timer = this.#options.clock.schedule(delayMs, () => this.#look());
  }

  #look(): void {
    const { clock, idleMs, answerMs, isNeeded, giveUp } = this.#options;
    this.#timer = undefined;
    if (this.#pingedAtMs !== undefined) {
      const leftMs = this.#pingedAtMs + answerMs - clock.elapsedMs();
      if (leftMs > 0) this.#arm(leftMs);
      else giveUp();
      return;
    }
    if (!isNeeded()) return;
    const leftMs = this.#receivedAtMs + idleMs - clock.elapsedMs();
    if (leftMs > 0) this.#arm(leftMs);
    else this.#ping();
  }
}
