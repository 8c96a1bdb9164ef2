/**
 * Whether a leader's time is over, by its own clock. The signal that ends its work comes from a timer; after
 * a process was stopped (SIGSTOP, a paused machine) what had arrived meanwhile is handled before timers are,
 * and would be acted on although another instance leads by now. So writes look at the clock themselves.
 */
import type { Result } from "#api/meta/status.ts";
import type { Clock } from "#lib/time/clock.ts";
import {
  type Call,
  type Transport,
  TransportError,
  type WatchCall,
  type WatchEvent,
} from "./transport.ts";

export class HeldLease {
  readonly #clock: Pick<Clock, "elapsedMs">;
  #untilMs = Number.POSITIVE_INFINITY;

  constructor(clock: Pick<Clock, "elapsedMs">) {
    this.#clock = clock;
  }

  /** The holder may act until then, by the clock's `elapsedMs`. */
  holdUntil(untilMs: number): void {
    this.#untilMs = untilMs;
  }

  /** Its work has ended: there is nothing to be held back. */
  end(): void {
    this.#untilMs = Number.POSITIVE_INFINITY;
  }

  get isOver(): boolean {
    return this.#clock.elapsedMs() >= this.#untilMs;
  }
}

const READS: ReadonlySet<Call["verb"]> = new Set(["get", "list"]);

/** A transport whose writes fail once the lease is over. Leases are written all the same: that is how one leads. */
export class LeaderTransport implements Transport, Disposable {
  readonly #transport: Transport & Partial<Disposable>;
  readonly #lease: HeldLease;

  constructor(transport: Transport & Partial<Disposable>, lease: HeldLease) {
    this.#transport = transport;
    this.#lease = lease;
  }

  [Symbol.dispose](): void {
    this.#transport[Symbol.dispose]?.();
  }

  send(call: Call, signal?: AbortSignal): Promise<Result<unknown>> {
    if (this.#lease.isOver && !READS.has(call.verb) && call.kind.names.plural !== "leases") {
      return Promise.reject(new TransportError("the lease of this leader has run out"));
    }
    return this.#transport.send(call, signal);
  }

  watch(call: WatchCall, signal: AbortSignal): AsyncIterable<readonly WatchEvent[]> {
    return this.#transport.watch(call, signal);
  }

  raw(path: string, signal?: AbortSignal): Promise<Result<unknown>> {
    return this.#transport.raw(path, signal);
  }
}
