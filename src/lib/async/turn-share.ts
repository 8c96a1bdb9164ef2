/**
 * How much of its usual work each part of the process does in a turn of the event loop. Several parts share
 * a turn, each with a bound of its own; together they take a few milliseconds. While the collector marks a
 * large heap all of them are slow at once, and a request from outside would wait for the sum.
 *
 * Promises:
 * 1. `share` is 1 while turns take up to `TURN_MS`; while they take longer it falls until they do not any
 *    more, at most to `SHARE_MIN`, and afterwards it rises again within a few turns.
 * 2. While time stands still (the virtual clock) it is 1.
 */
import type { Clock } from "../time/clock.ts";
import { nextTurn } from "./next-turn.ts";

const TURN_MS = 10;
const SHARE_MIN = 0.1;
/** One short turn does not say that the next one is short. */
const GROWTH_MAX = 1.25;

type Elapsed = Pick<Clock, "elapsedMs">;

export class TurnShare {
  static readonly #ofClocks = new WeakMap<Elapsed, TurnShare>();
  readonly #clock: Elapsed;
  #share = 1;
  /** When somebody first asked in this turn. */
  #startMs: number | undefined;

  private constructor(clock: Elapsed) {
    this.#clock = clock;
  }

  /** There is one event loop, so all that share a clock share this. */
  static of(clock: Elapsed): TurnShare {
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

  #nextTurn(): void {
    const tookMs = this.#clock.elapsedMs() - this.#startMs!;
    this.#startMs = undefined;
    const growth = tookMs > 0 ? Math.min(TURN_MS / tookMs, GROWTH_MAX) : GROWTH_MAX;
    this.#share = Math.min(Math.max(this.#share * growth, SHARE_MIN), 1);
  }
}
