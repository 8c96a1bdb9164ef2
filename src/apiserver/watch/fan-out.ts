/**
 * Schedules the writes of all watches of a kind: they are flushed at the end of an event loop turn.
 *
 * Promises:
 * 1. All changes of one turn are one write for each watch, after the responses to the requests that
 *    made the changes. A single change is not delayed.
 * 2. Watches that send the same frames in a turn share one buffer.
 * 3. Sending to very many watches does not block other work: it continues in the next turn, and after
 *    the last watch there is a pause. Changes during the pause are batched, which costs each watch
 *    hardly more than one change: the busier the server, the fewer its writes.
 * 4. Watches that are behind do not pause: a client that reads a long history gets it as fast as it reads.
 */
import type { Kind } from "#api/kind.ts";
import { nextTurn } from "#lib/async/next-turn.ts";
import type { Clock } from "#lib/time/clock.ts";
import { FrameChunk } from "../response/byte-chunk.ts";

/** Watches that send in one turn of the event loop. */
const AT_A_TIME = 500;
/** About twice the cost of a write, so most of the CPU time is left for the requests. */
const REST_MS_PER_WRITE = 0.05;
/** Shorter pauses are skipped. */
const REST_MIN_MS = 1;
/** The longest delay of an event. */
const REST_MAX_MS = 20;

/** One for each kind, so that a kind with many watchers does not delay the others. */
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
  readonly #chunks = new Map<Uint8Array, FrameChunk>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `flush` once, at the end of this turn or after the pause. */
  schedule(flush: () => void): void {
    this.#due.push(flush);
    if (!this.#running) void this.#run();
  }

  /** Calls `flush` once, at the end of this turn or in one of the next, without a pause. */
  catchUp(flush: () => void): void {
    this.#behind.push(flush);
    if (!this.#catchingUp) void this.#runBehind();
  }

  /** The frames as one chunk, shared by all watches that send the same in this turn. */
  join(frames: readonly Uint8Array[]): FrameChunk {
    const known = this.#chunks.get(frames[0]!);
    if (known?.isOf(frames) === true) return known;
    const made = new FrameChunk(frames);
    this.#chunks.set(frames[0]!, made);
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
      this.#chunks.clear();
    }
  }
}
