/**
 * Time that moves only by `advance`. For tests and simulations.
 *
 * Invariants:
 * 1. `nowMs` changes only inside `advance`, and never goes back.
 * 2. All tasks due run in order of due time; those due together, in order of scheduling.
 * 3. While a task runs, `nowMs` is exactly its due time.
 * 4. A task scheduled during `advance` runs in the same `advance` if it is due before its end.
 * 5. Between due times, and before returning, `advance` waits until the event loop is quiet: no
 *    timer was set, run or cancelled during several full turns of the loop.
 * 6. Disposing of a clock that still has timers throws and names them: a test that leaves a timer
 *    behind fails.
 */

import { nextTurn } from "../async/next-turn.ts";
import { sleepOn } from "../async/sleep.ts";
import { Heap } from "../collections/heap.ts";
import type { Clock, Timer } from "./clock.ts";

const QUIET_TURNS = 4;
const TASKS_PER_ADVANCE_MAX = 10_000_000; // a task that always reschedules itself at once ends here

interface Entry {
  readonly dueMs: number;
  readonly order: number;
  readonly task: () => void;
  readonly origin: Error;
  cancelled: boolean;
}

export class VirtualClock implements Clock, Disposable {
  readonly #startMs: number;
  #nowMs: number;
  #order = 0;
  #activity = 0;
  #live = 0;
  readonly #queue = new Heap<Entry>((a, b) => a.dueMs - b.dueMs || a.order - b.order);

  /** `start`: an RFC 3339 time or milliseconds since 1970. */
  constructor(start: string | number = 0) {
    this.#startMs = typeof start === "string" ? Date.parse(start) : start;
    if (!Number.isFinite(this.#startMs)) throw new RangeError(`not a time: ${start}`);
    this.#nowMs = this.#startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  elapsedMs(): number {
    return this.#nowMs - this.#startMs;
  }

  get pendingTimers(): number {
    return this.#live;
  }

  schedule(delayMs: number, task: () => void): Timer {
    const entry: Entry = {
      dueMs: this.#nowMs + Math.max(0, delayMs),
      order: this.#order++,
      task,
      origin: new Error("timer set here"),
      cancelled: false,
    };
    this.#queue.push(entry);
    this.#activity += 1;
    this.#live += 1;
    const cancel = (): void => {
      if (entry.cancelled) return;
      entry.cancelled = true;
      this.#activity += 1;
      this.#live -= 1;
    };
    return { cancel, [Symbol.dispose]: cancel };
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, delayMs, signal);
  }

  /** Moves time forward by `durationMs`, running everything that falls due. */
  async advance(durationMs: number): Promise<void> {
    if (!(durationMs >= 0)) throw new RangeError(`cannot advance by ${durationMs} ms`);
    const endMs = this.#nowMs + durationMs;
    let ran = 0;
    await this.settle();
    for (let entry = this.#nextDue(endMs); entry !== undefined; entry = this.#nextDue(endMs)) {
      const { dueMs } = entry;
      this.#nowMs = Math.max(this.#nowMs, dueMs);
      for (let now: Entry | undefined = entry; now !== undefined; now = this.#nextDue(dueMs)) {
        this.#queue.pop();
        now.cancelled = true; // cancelling it from now on changes nothing
        this.#live -= 1;
        this.#activity += 1;
        now.task();
        ran += 1;
        if (ran > TASKS_PER_ADVANCE_MAX) throw new Error("advance never comes to an end");
      }
      await this.settle();
    }
    this.#nowMs = endMs;
  }

  /** Waits until the event loop is quiet without moving time. */
  async settle(): Promise<void> {
    for (let quietTurns = 0; quietTurns < QUIET_TURNS; quietTurns++) {
      const before = this.#activity;
      await nextTurn();
      if (this.#activity !== before) quietTurns = -1;
      const next = this.#peek();
      if (next !== undefined && next.dueMs <= this.#nowMs) return; // work to do now
    }
  }

  [Symbol.dispose](): void {
    if (this.#live === 0) return;
    const left: string[] = [];
    for (let entry = this.#queue.pop(); entry !== undefined; entry = this.#queue.pop()) {
      if (!entry.cancelled) left.push(`due in ${entry.dueMs - this.#nowMs} ms, ${whereSet(entry)}`);
    }
    this.#live = 0;
    throw new Error(`${left.length} timer(s) left behind:\n  ${left.slice(0, 10).join("\n  ")}`);
  }

  #nextDue(endMs: number): Entry | undefined {
    const entry = this.#peek();
    return entry !== undefined && entry.dueMs <= endMs ? entry : undefined;
  }

  #peek(): Entry | undefined {
    let entry = this.#queue.peek();
    while (entry?.cancelled) {
      this.#queue.pop();
      entry = this.#queue.peek();
    }
    return entry;
  }
}

function whereSet({ origin }: Entry): string {
  const frames = (origin.stack ?? "").split("\n").slice(2);
  return (
    frames.find((frame) => !/(virtual-clock|sleep)\.ts/.test(frame))?.trim() ?? "unknown place"
  );
}
