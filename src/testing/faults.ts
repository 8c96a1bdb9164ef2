/**
 * Faults between the components of a test cluster and its API server. Requests of clients over HTTPS
 * are not concerned.
 */
import { failure, type Result } from "#api/meta/status.ts";
import {
  type Call,
  type Transport,
  TransportError,
  type WatchCall,
  type WatchEvent,
} from "#client/transport.ts";
import type { Clock } from "#lib/time/clock.ts";

const UPDATES: ReadonlySet<Call["verb"]> = new Set(["update", "patch"]);

/** A watch that ends every few minutes would make a year of virtual time slow. */
const WATCH_SECONDS = String(10 * 365 * 86_400);

export class Faults {
  #drop = new AbortController();
  #delayMs = 0;
  #conflicts = 0;
  #failures = 0;

  /** Breaks every open watch: informers have to resume from the revision that they saw last. */
  dropWatches(): void {
    const drop = this.#drop;
    this.#drop = new AbortController();
    drop.abort();
  }

  /** From now on every request takes this long; 0 ends that. */
  delay(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  /** The next updates and patches are refused with 409. */
  conflict(count: number): void {
    this.#conflicts = count;
  }

  /** The next requests find no server. */
  disconnect(count: number): void {
    this.#failures = count;
  }

  /** The same transport with the faults of this cluster. */
  between(inner: Transport, clock: Clock): Transport {
    return {
      send: async (call, signal) =>
        (await this.#refusal(call, clock, signal)) ?? inner.send(call, signal),
      raw: (path, signal) => inner.raw(path, signal),
      watch: (call, signal) => this.#watch(inner, call, signal),
    };
  }

  async #refusal(
    call: Call,
    clock: Clock,
    signal: AbortSignal | undefined,
  ): Promise<Result<unknown> | undefined> {
    if (this.#delayMs > 0) await clock.sleep(this.#delayMs, signal);
    if (this.#failures > 0) {
      this.#failures -= 1;
      throw new TransportError("the connection was refused (a fault of the test)");
    }
    if (this.#conflicts === 0 || !UPDATES.has(call.verb)) return undefined;
    this.#conflicts -= 1;
    const { kind, name = "" } = call;
    const what = kind.group === "" ? kind.names.plural : `${kind.names.plural}.${kind.group}`;
    const message = `Operation cannot be fulfilled on ${what} "${name}": the object has been modified; please apply your changes to the latest version and try again`;
    return failure({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message,
      reason: "Conflict",
      details: { name, group: kind.group, kind: kind.names.plural },
      code: 409,
    });
  }

  async *#watch(
    inner: Transport,
    call: WatchCall,
    signal: AbortSignal,
  ): AsyncGenerator<readonly WatchEvent[]> {
    const drop = this.#drop.signal;
    const query = { ...call.query, timeoutSeconds: WATCH_SECONDS };
    yield* inner.watch({ ...call, query }, AbortSignal.any([signal, drop]));
    if (drop.aborted && !signal.aborted) throw new TransportError("the watch was dropped");
  }
}
