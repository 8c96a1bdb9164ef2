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
import { Backoff } from "#lib/async/backoff.ts";
import { Fifo } from "#lib/collections/fifo.ts";
import type { Random } from "#lib/random.ts";
import type { Clock, Timer } from "#lib/time/clock.ts";
import type { QueueObserver, WatchedQueue } from "./queue-metrics.ts";

interface Waiting<K> {
  readonly key: K;
  readonly sinceMs: number;
}

export class WorkQueue<K> implements WatchedQueue {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #ready = new Map<string, Waiting<K>>();
  /** Ids of ready keys in order. Taking the first entry of a Map again and again is slow. */
  readonly #order = new Fifo<string>();
  /** Keys that a worker has, with the time when it took them. */
  readonly #running = new Map<string, number>();
  readonly #again = new Map<string, K>();
  readonly #delayed = new Map<string, { readonly dueMs: number; readonly timer: Timer }>();
  readonly #backoffs = new Map<string, Backoff>();
  readonly #idOf: (key: K) => string;
  #wake: (() => void)[] = [];
  #closed = false;
  /** Its metrics. */
  #observer: QueueObserver | undefined;

  constructor(clock: Clock, random: Random, idOf: (key: K) => string) {
    this.#clock = clock;
    this.#random = random;
    this.#idOf = idOf;
  }

  get size(): number {
    return this.#ready.size;
  }

  /** Keys that are ready or running. Delayed keys are not counted. */
  get busy(): number {
    return this.#ready.size + this.#running.size;
  }

  runningSinceMs(): Iterable<number> {
    return this.#running.values();
  }

  observe(observer: QueueObserver): void {
    this.#observer = observer;
  }

  add(key: K): void {
    if (this.#closed) return;
    const id = this.#idOf(key);
    if (this.#running.has(id)) {
      if (!this.#again.has(id)) this.#observer?.added.add(1);
      this.#again.set(id, key);
      return;
    }
    if (!this.#ready.has(id)) this.#observer?.added.add(1);
    this.#enqueue(id, key);
  }

  addAfter(key: K, delayMs: number): void {
    if (this.#closed) return;
    const id = this.#idOf(key);
    const dueMs = this.#clock.elapsedMs() + delayMs;
    const waiting = this.#delayed.get(id);
    if (waiting !== undefined && waiting.dueMs <= dueMs) return;
    waiting?.timer.cancel();
    this.#observer?.retried.add(1);
    const timer = this.#clock.schedule(delayMs, () => {
      this.#delayed.delete(id);
      this.add(key);
    });
    this.#delayed.set(id, { dueMs, timer });
  }

  /** Queues the key again after its back-off; returns the delay. */
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
      const id = this.#order.shift();
      if (id !== undefined) {
        const { key, sinceMs } = this.#ready.get(id)!;
        const nowMs = this.#clock.elapsedMs();
        this.#observer?.waitedSeconds.observe((nowMs - sinceMs) / 1000);
        this.#ready.delete(id);
        this.#running.set(id, nowMs);
        return key;
      }
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  done(key: K): void {
    const id = this.#idOf(key);
    const sinceMs = this.#running.get(id);
    if (sinceMs !== undefined) {
      this.#observer?.workedSeconds.observe((this.#clock.elapsedMs() - sinceMs) / 1000);
    }
    this.#running.delete(id);
    const again = this.#again.get(id);
    if (again === undefined) return;
    this.#again.delete(id);
    if (!this.#closed) this.#enqueue(id, again);
  }

  close(): void {
    this.#closed = true;
    for (const { timer } of this.#delayed.values()) timer.cancel();
    this.#delayed.clear();
    const wake = this.#wake;
    this.#wake = [];
    for (const resolve of wake) resolve();
  }

  /** A key that waits already keeps its place. */
  #enqueue(id: string, key: K): void {
    const waiting = this.#ready.get(id);
    if (waiting === undefined) this.#order.push(id);
    this.#ready.set(id, { key, sinceMs: waiting?.sinceMs ?? this.#clock.elapsedMs() });
    this.#wake.shift()?.();
  }
}
