/**
 * How long to wait before trying again: grows by `factor` from `baseMs` to `capMs`, and each wait
 * is stretched by up to `jitter` of itself so that many waiters do not come back together.
 * `nextMs` counts the attempt; `reset` starts over. Waits never exceed capMs × (1 + jitter).
 */
import type { Random } from "../random.ts";

export interface BackoffOptions {
  readonly baseMs: number;
  readonly capMs: number;
  readonly factor?: number;
  readonly jitter?: number;
  readonly random: Random;
}

export class Backoff {
  readonly #options: Required<BackoffOptions>;
  #attempts = 0;

  constructor(options: BackoffOptions) {
    this.#options = { factor: 2, jitter: 0, ...options };
  }

  get attempts(): number {
    return this.#attempts;
  }

  nextMs(): number {
    const { baseMs, capMs, factor, jitter, random } = this.#options;
    const plainMs = Math.min(capMs, baseMs * factor ** this.#attempts);
    this.#attempts += 1;
    return plainMs * (1 + jitter * random.next());
  }

  reset(): void {
    this.#attempts = 0;
  }
}
