/**
 * Times to live are leases in etcd. Thousands of Events would mean thousands of leases, so keys that
 * are written about the same time with the same time to live share one. It then lasts a twentieth
 * longer than asked for, a minute at most: a key goes no earlier than it may.
 */
import type { Clock } from "#lib/time/clock.ts";
import type { Endpoints } from "./endpoints.ts";
import { leaseGrant, leaseTimeToLive } from "./rpc.ts";

const SHARED_FOR_PART = 1 / 20;
const SHARED_FOR_SECONDS_MAX = 60;
const KEYS_MAX = 1_000;

interface SharedLease {
  readonly id: Promise<bigint>;
  readonly usableUntilMs: number;
  keys: number;
}

export class Leases {
  readonly #endpoints: Endpoints;
  readonly #clock: Clock;
  readonly #byTtl = new Map<number, SharedLease>();

  constructor(endpoints: Endpoints, clock: Clock) {
    this.#endpoints = endpoints;
    this.#clock = clock;
  }

  /** A lease that will last at least this long from now. */
  async get(ttlSeconds: number): Promise<bigint> {
    const nowMs = this.#clock.elapsedMs();
    this.#dropOld(nowMs);
    let lease = this.#byTtl.get(ttlSeconds);
    if (lease === undefined || lease.keys >= KEYS_MAX) {
      lease = this.#grant(ttlSeconds, nowMs);
      this.#byTtl.set(ttlSeconds, lease);
    }
    lease.keys += 1;
    return await lease.id;
  }

  /** Forgets all leases, after etcd said that it does not know one of them. */
  forget(): void {
    this.#byTtl.clear();
  }

  #grant(ttlSeconds: number, nowMs: number): SharedLease {
    const sharedForSeconds = Math.min(SHARED_FOR_SECONDS_MAX, ttlSeconds * SHARED_FOR_PART);
    const request = { ttlSeconds: Math.ceil(ttlSeconds + sharedForSeconds) };
    // Not a read, but an unused lease just expires: it is safe to retry.
    const id = this.#endpoints.call(leaseGrant, request, "read").then((response) => response.id);
    id.catch(() => this.#byTtl.delete(ttlSeconds));
    return { id, usableUntilMs: nowMs + sharedForSeconds * 1000, keys: 0 };
  }

  #dropOld(nowMs: number): void {
    for (const [ttlSeconds, { usableUntilMs }] of this.#byTtl) {
      if (usableUntilMs <= nowMs) this.#byTtl.delete(ttlSeconds);
    }
  }
}

/** When leases end, asked once for each. */
export class LeaseEnds {
  readonly #endpoints: Endpoints;
  readonly #clock: Clock;
  readonly #ends = new Map<bigint, number>();

  constructor(endpoints: Endpoints, clock: Clock) {
    this.#endpoints = endpoints;
    this.#clock = clock;
  }

  /** 0 for a key without a lease; now for one whose lease has ended meanwhile. */
  async endsAtMs(id: bigint): Promise<number> {
    if (id === 0n) return 0;
    const known = this.#ends.get(id);
    if (known !== undefined) return known;
    const { ttlSeconds } = await this.#endpoints.call(leaseTimeToLive, { id }, "read");
    const endsAtMs = this.#clock.nowMs() + Math.max(0, ttlSeconds) * 1000;
    this.#ends.set(id, endsAtMs);
    return endsAtMs;
  }
}
