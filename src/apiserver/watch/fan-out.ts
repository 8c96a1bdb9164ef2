/**
 * Lets all watches of a kind send at the end of a turn of the event loop, one after the other.
 *
 * Promises:
 * 1. What several changes of one turn bring goes out in one write for each watch, after the answers
 *    to those who made the changes. A change that comes alone waits for nothing.
 * 2. What several watches send alike in a turn is put together once.
 * 3. Sending to very many does not keep the server from its other work: it goes on in the next turn,
 *    and when all have had their turn there is a rest. What changes meanwhile goes out together,
 *    which costs each watch hardly more than one change: the busier the server, the fewer its writes.
 * 4. Who is behind does not rest: a client that reads a long history gets it as fast as it reads.
 */
import type { Kind } from "#api/kind.ts";
import { nextTurn } from "#lib/async/next-turn.ts";
import type { Clock } from "#lib/time/clock.ts";
import { Piece } from "../response/byte-chunk.ts";

/** So many send before others have their turn. */
const AT_A_TIME = 500;
/** About twice what a write costs, so most of the time is left for what makes the changes. */
const REST_MS_PER_WRITE = 0.05;
/** A shorter rest is none. */
const REST_MIN_MS = 1;
/** Nobody notices that an event is so late. */
const REST_MAX_MS = 20;

/** One for each kind: what many hear of does not hold up what a few wait for. */
export class FanOuts {
  readonly #clock: Clock;
  readonly #byKind = new WeakMap<Kind, FanOut>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(kind: Kind): FanOut {
    const known = this.#byKind.get(kind);
    if (known !== undefined) return known;
    const made = new FanOut(this.#clock);
    this.#byKind.set(kind, made);
    return made;
  }
}

export class FanOut {
  readonly #clock: Clock;
  #due: (() => void)[] = [];
  #behind: (() => void)[] = [];
  #running = false;
  #catchingUp = false;
  #restUntilMs = 0;
  readonly #pieces = new Map<Uint8Array, Piece>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls it once, at the end of this turn or after the rest: there is news. */
  schedule(flush: () => void): void {
    this.#due.push(flush);
    if (!this.#running) void this.#run();
  }

  /** Calls it once, at the end of this turn or in one of the next. */
  catchUp(flush: () => void): void {
    this.#behind.push(flush);
    if (!this.#catchingUp) void this.#runBehind();
  }

  /** The frames as one piece, made by the first who asks for it in this turn. */
  join(frames: readonly Uint8Array[]): Piece {
    const known = this.#pieces.get(frames[0]!);
    if (known?.isOf(frames) === true) return known;
    const made = new Piece(frames);
    this.#pieces.set(frames[0]!, made);
    return made;
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#due.length > 0) {
      const restMs = this.#restUntilMs - this.#clock.elapsedMs();
      if (restMs > 0) await this.#clock.sleep(restMs);
      else await nextTurn();
      const due = this.#due;
      this.#due = [];
      await this.#send(due);
      const earnedMs = Math.min(due.length * REST_MS_PER_WRITE, REST_MAX_MS);
      if (earnedMs >= REST_MIN_MS) this.#restUntilMs = this.#clock.elapsedMs() + earnedMs;
    }
    this.#running = false;
  }

  async #runBehind(): Promise<void> {
    this.#catchingUp = true;
    while (this.#behind.length > 0) {
      await nextTurn();
      const behind = this.#behind;
      this.#behind = [];
      await this.#send(behind);
    }
    this.#catchingUp = false;
  }

  async #send(due: readonly (() => void)[]): Promise<void> {
    for (let from = 0; from < due.length; from += AT_A_TIME) {
      if (from > 0) await nextTurn();
      for (const flush of due.slice(from, from + AT_A_TIME)) flush();
      this.#pieces.clear();
    }
  }
}
