/**
 * The queue of keys to work on.
 *
 * Promises:
 * 1. A key is in the queue at most once, however often it is added.
 * 2. A key that is added while it is worked on is queued again when that work is done.
 * 3. `addAfter` keeps the earliest of several times for a key.
 * 4. Keys are handed out in the order in which they became ready.
 * 5. `retry` waits longer each time for the same key, from 5 ms to 1000 s; `forget` starts afresh.
 */
import { Backoff } from "#lib/backoff.ts";
import type { Clock, Timer } from "#lib/clock.ts";
import type { Random } from "#lib/random.ts";

export class WorkQueue<K> {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #ready = new Map<string, K>();
  readonly #running = new Set<string>();
  readonly #again = new Map<string, K>();
  readonly #delayed = new Map<string, { readonly dueMs: number; readonly timer: Timer }>();
  readonly #backoffs = new Map<string, Backoff>();
  readonly #idOf: (key: K) => string;
  #wake: (() => void)[] = [];
  #closed = false;

  constructor(clock: Clock, random: Random, idOf: (key: K) => string) {
    this.#clock = clock;
    this.#random = random;
    this.#idOf = idOf;
  }

  get size(): number {
    return this.#ready.size;
  }

  /** Ready, running or waiting for a time. */
  get busy(): number {
    return this.#ready.size + this.#running.size;
  }

  add(key: K): void {
    if (this.#closed) return;
    const id = this.#idOf(key);
    if (this.#running.has(id)) {
      this.#again.set(id, key);
      return;
    }
    this.#ready.set(id, key);
    this.#wake.shift()?.();
  }

  addAfter(key: K, delayMs: number): void {
    if (this.#closed) return;
    const id = this.#idOf(key);
    const dueMs = this.#clock.elapsedMs() + delayMs;
    const waiting = this.#delayed.get(id);
    if (waiting !== undefined && waiting.dueMs <= dueMs) return;
    waiting?.timer.cancel();
    const timer = this.#clock.schedule(delayMs, () => {
      this.#delayed.delete(id);
      this.add(key);
    });
    this.#delayed.set(id, { dueMs, timer });
  }

  /** Puts the key back for later; answers after how long. */
  retry(key: K): number {
    const id = this.#idOf(key);
    let backoff = this.#backoffs.get(id);
    if (backoff === undefined) {
      backoff = new Backoff({ baseMs: 5, capMs: 1_000_000, random: this.#random });
      this.#backoffs.set(id, backoff);
    }
    const delayMs = backoff.nextMs();
    this.addAfter(key, delayMs);
    return delayMs;
  }

  forget(key: K): void {
    this.#backoffs.delete(this.#idOf(key));
  }

  failures(key: K): number {
    return this.#backoffs.get(this.#idOf(key))?.attempts ?? 0;
  }

  /** The next key; undefined once the queue is closed. `done` must be called for each key. */
  async take(): Promise<K | undefined> {
    for (;;) {
      if (this.#closed) return undefined;
      const next = this.#ready.entries().next();
      if (!next.done) {
        const [id, key] = next.value;
        this.#ready.delete(id);
        this.#running.add(id);
        return key;
      }
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  done(key: K): void {
    const id = this.#idOf(key);
    this.#running.delete(id);
    const again = this.#again.get(id);
    if (again === undefined) return;
    this.#again.delete(id);
    this.add(again);
  }

  close(): void {
    this.#closed = true;
    for (const { timer } of this.#delayed.values()) timer.cancel();
    this.#delayed.clear();
    const wake = this.#wake;
    this.#wake = [];
    for (const resolve of wake) resolve();
  }
}
