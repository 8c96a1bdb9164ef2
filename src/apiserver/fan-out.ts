/**
 * Lets all watches of a server send at the end of a turn of the event loop, one after the other.
 *
 * Promises:
 * 1. What several changes of one turn bring goes out in one write for each watch, after the answers
 *    to those who made the changes. A change that comes alone waits for nothing.
 * 2. What several watches send alike in a turn is put together once.
 * 3. Sending to very many does not keep the server from its other work: it goes on in the next turn.
 */
import { nextTurn } from "#lib/next-turn.ts";
import { Piece } from "./piece.ts";

/** So many send before others have their turn. */
const AT_A_TIME = 500;

export class FanOut {
  #due: (() => void)[] = [];
  #running = false;
  readonly #pieces = new Map<Uint8Array, Piece>();

  /** Calls it once, at the end of this turn or in one of the next. */
  schedule(flush: () => void): void {
    this.#due.push(flush);
    this.#go();
  }

  /** The frames as one piece, made by the first who asks for it in this turn. */
  join(frames: readonly Uint8Array[]): Piece {
    const known = this.#pieces.get(frames[0]!);
    if (known?.isOf(frames) === true) return known;
    const made = new Piece(frames);
    this.#pieces.set(frames[0]!, made);
    return made;
  }

  #go(): void {
    if (this.#running || this.#due.length === 0) return;
    this.#running = true;
    void nextTurn().then(() => {
      for (const flush of this.#due.splice(0, AT_A_TIME)) flush();
      this.#pieces.clear();
      this.#running = false;
      this.#go();
    });
  }
}
