/**
 * Many due times on one timer.
 *
 * Promises:
 * 1. Each key has at most one due time; setting another one replaces it.
 * 2. A key is reported once, not before its due time and at most one tick after it.
 * 3. However many keys there are, the clock has one timer, and none while there are no keys.
 */

import { Heap } from "../collections/heap.ts";
import type { Clock, Timer } from "./clock.ts";

export class TimerWheel<K> implements Disposable {
  readonly #clock: Clock;
  readonly #tickMs: number;
  readonly #onDue: (key: K) => void;
  readonly #slotOf = new Map<K, number>();
  readonly #slots = new Map<number, Set<K>>();
  readonly #order = new Heap<number>((a, b) => a - b);
  #timer: Timer | undefined;
  #armedSlot = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, tickMs: number, onDue: (key: K) => void) {
    this.#clock = clock;
    this.#tickMs = tickMs;
    this.#onDue = onDue;
  }

  get size(): number {
    return this.#slotOf.size;
  }

  set(key: K, delayMs: number): void {
    this.cancel(key);
    const slot = Math.ceil((this.#clock.elapsedMs() + Math.max(0, delayMs)) / this.#tickMs);
    let keys = this.#slots.get(slot);
    if (keys === undefined) {
      keys = new Set();
      this.#slots.set(slot, keys);
      this.#order.push(slot);
    }
    keys.add(key);
    this.#slotOf.set(key, slot);
    if (slot < this.#armedSlot) this.#arm();
  }

  cancel(key: K): void {
    const slot = this.#slotOf.get(key);
    if (slot === undefined) return;
    this.#slotOf.delete(key);
    this.#slots.get(slot)?.delete(key);
    if (this.#slotOf.size === 0) this.#disarm();
  }

  [Symbol.dispose](): void {
    this.#slotOf.clear();
    this.#slots.clear();
    while (this.#order.pop() !== undefined);
    this.#disarm();
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#armedSlot = Number.POSITIVE_INFINITY;
  }

  #arm(): void {
    this.#disarm();
    const slot = this.#order.peek();
    if (slot === undefined || this.#slotOf.size === 0) return;
    this.#armedSlot = slot;
    const delayMs = slot * this.#tickMs - this.#clock.elapsedMs();
    this.#timer = this.#clock.schedule(delayMs, () => this.#run());
  }

  #run(): void {
    this.#armedSlot = Number.POSITIVE_INFINITY;
    // A timer of the system may run a fraction of a millisecond early.
    const now = (this.#clock.elapsedMs() + 1) / this.#tickMs;
    for (let slot = this.#order.peek(); slot !== undefined && slot <= now; ) {
      this.#order.pop();
      const keys = this.#slots.get(slot) ?? [];
      this.#slots.delete(slot);
      for (const key of keys) this.#slotOf.delete(key);
      for (const key of keys) this.#onDue(key);
      slot = this.#order.peek();
    }
    this.#arm();
  }
}
