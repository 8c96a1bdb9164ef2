/** Answers that count for a while. Bounded: the one that was used longest ago goes first. */
import type { Clock } from "#lib/time/clock.ts";

interface Entry<Value> {
  readonly value: Value;
  readonly untilMs: number;
}

export class ExpiringCache<Value> {
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #sizeMax: number;

  constructor(clock: Pick<Clock, "elapsedMs">, sizeMax: number) {
    this.#clock = clock;
    this.#sizeMax = sizeMax;
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    if (entry.untilMs <= this.#clock.elapsedMs()) return undefined;
    this.#entries.set(key, entry); // the last in order is the one that was used last
    return entry.value;
  }

  set(key: string, value: Value, forMs: number): void {
    this.#entries.delete(key);
    if (forMs <= 0) return;
    this.#entries.set(key, { value, untilMs: this.#clock.elapsedMs() + forMs });
    if (this.#entries.size <= this.#sizeMax) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }
}
