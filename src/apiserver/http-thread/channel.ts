/**
 * The core's end of something that is open with the edge: bytes in both directions, neither running
 * ahead of whoever takes them.
 */
import { AHEAD_BYTES_MAX } from "../http/exchange.ts";
import type { PieceBytes } from "../response/byte-chunk.ts";
import type { CoreOutbox } from "./main-thread-outbox.ts";
import { type FromCore, TOLD_BYTES_MIN } from "./messages.ts";

/** What the edge has to say about something that is open. */
export interface EdgeListener {
  /** The client sent more; null: and will send no more. */
  data(bytes: Buffer | null): void;
  /** The body that was asked for; undefined: it is too long. */
  body?(bytes: Buffer | undefined): void;
  /** Bytes that were written are on their way to the client. */
  taken(count: number): void;
  /** So is everything up to the end, and that. */
  ended?(): void;
  left(): void;
}

export interface Wire {
  readonly outbox: CoreOutbox;
  /** The edge will hear nothing more of it, and need not say anything. */
  forget(id: number): void;
}

export class Channel {
  readonly #id: number;
  readonly #wire: Wire;
  #aheadBytes = 0;
  #takenBytes = 0;
  #whenDrained: (() => void) | undefined;

  constructor(id: number, wire: Wire) {
    this.#id = id;
    this.#wire = wire;
  }

  /** False when so much is under way that one should wait for `drained`. */
  write(bytes: Uint8Array): boolean {
    const slice = this.#wire.outbox.add(bytes);
    this.#wire.outbox.put({ form: "chunk", id: this.#id, bytes: slice });
    return this.#ahead(bytes.length);
  }

  writePiece(piece: PieceBytes): boolean {
    this.#wire.outbox.putPiece(this.#id, piece);
    return this.#ahead(piece.chunk.length);
  }

  /** Calls back when one can go on writing, or when nobody listens any more. One at a time. */
  drained(callback: () => void): void {
    if (this.#aheadBytes < AHEAD_BYTES_MAX) callback();
    else this.#whenDrained = callback;
  }

  taken(count: number): void {
    this.#aheadBytes -= count;
    if (this.#aheadBytes < AHEAD_BYTES_MAX) this.#wake();
  }

  /** The client has left: whoever waits need not. */
  left(): void {
    this.#aheadBytes = 0;
    this.#wake();
  }

  /** Makes room for more of what the client sends. */
  pulled(count: number): void {
    this.#takenBytes += count;
    if (this.#takenBytes < TOLD_BYTES_MIN) return;
    this.#wire.outbox.put({ form: "pulled", id: this.#id, count: this.#takenBytes });
    this.#takenBytes = 0;
  }

  say(message: FromCore): void {
    this.#wire.outbox.put(message);
  }

  sayLast(message: FromCore): void {
    this.say(message);
    this.#wire.forget(this.#id);
  }

  #ahead(count: number): boolean {
    this.#aheadBytes += count;
    return this.#aheadBytes < AHEAD_BYTES_MAX;
  }

  #wake(): void {
    const callback = this.#whenDrained;
    this.#whenDrained = undefined;
    callback?.();
  }
}
