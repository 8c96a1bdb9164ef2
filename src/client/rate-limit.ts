/**
 * Holds a client back: so many requests a second, so many at once after a pause.
 *
 * Promises:
 * 1. Requests are sent in the order in which they came.
 * 2. Who gives up (its signal aborts) has used nothing.
 * 3. Watches are not counted: they stay open and cost nothing while they are idle.
 */

import type { Clock } from "#lib/time/clock.ts";
import type { Transport } from "./transport.ts";

export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

/** The same transport, no faster than the limit; without one as it is. */
export function limitedTransport(
  transport: Transport,
  limit: RateLimit | undefined,
  clock: Clock,
): Transport {
  if (limit === undefined) return transport;
  const bucket = new TokenBucket(limit, clock);
  return {
    send: async (call, signal) => {
      await bucket.take(signal);
      return transport.send(call, signal);
    },
    raw: async (path, signal) => {
      await bucket.take(signal);
      return transport.raw(path, signal);
    },
    watch: (call, signal) => transport.watch(call, signal),
  };
}

/** Full at first; negative while requests wait for tokens. */
class TokenBucket {
  readonly #limit: RateLimit;
  readonly #clock: Clock;
  #tokens: number;
  #atMs: number;

  constructor(limit: RateLimit, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
    this.#tokens = limit.burst;
    this.#atMs = clock.elapsedMs();
  }

  async take(signal: AbortSignal | undefined): Promise<void> {
    this.#refill();
    this.#tokens -= 1;
    if (this.#tokens >= 0) return;
    try {
      await this.#clock.sleep((-this.#tokens / this.#limit.perSecond) * 1000, signal);
    } catch (error) {
      this.#tokens += 1;
      throw error;
    }
  }

  #refill(): void {
    const { perSecond, burst } = this.#limit;
    const nowMs = this.#clock.elapsedMs();
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#atMs) / 1000) * perSecond);
    this.#atMs = nowMs;
  }
}
