/**
 * How much of its usual work each part of the process does in a turn of the event loop. Several parts share
 * a turn, each with a bound of its own; together they take a few milliseconds. While V8 marks a large heap
 * it has the thread mark 5 ms for each 64 KB that is allocated: then all parts are fifty times as slow
 * at once, and a request from outside would wait for the sum.
 *
 * Promises:
 * 1. `share` is 1 while turns take up to `TURN_MS`; while they take longer it falls until they do not any
 *    more, at most to `SHARE_MIN`, and afterwards it rises again within a few turns.
 * 2. After a long turn there is a `rest`: what is not urgent waits for its end, and other threads go on with
 *    the marking.
 * 3. With a small heap the share is 1, no turn is late and there are no rests, however long turns are.
 * 4. While time stands still (the virtual clock) the share is 1, no turn is late and there are no rests.
 */
import { getHeapStatistics } from "node:v8";
import type { Clock } from "../time/clock.ts";
import { nextTurn } from "./next-turn.ts";

const TURN_MS = 10;
/** Whoever has not begun by then waits for the next turn. */
const LATE_MS = 20;
const SHARE_MIN = 0.1;
/** One short turn does not say that the next one is short. */
const GROWTH_MAX = 1.25;
const LONG_MS = 40;
/** As many times as long as the long turn. */
const REST_FACTOR = 3;
const REST_MAX_MS = 200;
const LARGE_HEAP_BYTES = 320 * 1024 * 1024;

export class TurnShare {
  static readonly #ofClocks = new WeakMap<Clock, TurnShare>();
  readonly #clock: Clock;
  readonly #isHeapLarge: () => boolean;
  #share = 1;
  /** As of the last turn that was not short. */
  #isLarge = false;
  /** When somebody first asked in this turn. */
  #startMs: number | undefined;
  #rest: Promise<void> | undefined;

  constructor(clock: Clock, isHeapLarge: () => boolean = ownHeapIsLarge) {
    this.#clock = clock;
    this.#isHeapLarge = isHeapLarge;
  }

  /** There is one event loop, so all that share a clock share this. */
  static of(clock: Clock): TurnShare {
    let found = TurnShare.#ofClocks.get(clock);
    if (found === undefined) {
      found = new TurnShare(clock);
      TurnShare.#ofClocks.set(clock, found);
    }
    return found;
  }

  get share(): number {
    if (this.#startMs === undefined) {
      this.#startMs = this.#clock.elapsedMs();
      void nextTurn().then(() => this.#nextTurn());
    }
    return this.#share;
  }

  /** Whether this turn takes so long already that nothing more should begin. */
  get isLate(): boolean {
    if (!this.#isLarge || this.#startMs === undefined) return false;
    return this.#clock.elapsedMs() - this.#startMs >= LATE_MS;
  }

  /** Undefined unless there is one now. */
  get rest(): Promise<void> | undefined {
    return this.#rest;
  }

  #nextTurn(): void {
    const tookMs = this.#clock.elapsedMs() - this.#startMs!;
    this.#startMs = undefined;
    if (tookMs > TURN_MS) this.#isLarge = this.#isHeapLarge();
    if (!this.#isLarge) {
      this.#share = 1;
      return;
    }
    const growth = tookMs > 0 ? Math.min(TURN_MS / tookMs, GROWTH_MAX) : GROWTH_MAX;
    this.#share = Math.min(Math.max(this.#share * growth, SHARE_MIN), 1);
    if (tookMs < LONG_MS || this.#rest !== undefined) return;
    this.#rest = new Promise((resolve) => {
      this.#clock.schedule(Math.min(tookMs * REST_FACTOR, REST_MAX_MS), () => {
        this.#rest = undefined;
        resolve();
      });
    });
  }
}

function ownHeapIsLarge(): boolean {
  return getHeapStatistics().total_heap_size >= LARGE_HEAP_BYTES;
}
