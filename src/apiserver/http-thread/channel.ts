/**
 * The main thread's end of a request or socket that is open in the HTTP thread: bytes in both
 * directions, with back pressure.
 */
import { AHEAD_BYTES_MAX } from "../http/exchange.ts";
import type { ChunkBytes } from "../response/byte-chunk.ts";
import type { MainThreadOutbox } from "./main-thread-outbox.ts";
import { type FromMainThread, REPORT_BYTES_MIN } from "./messages.ts";

/** Receives the HTTP thread's messages about one open request or socket. */
export interface ChannelListener {
  /** Bytes from the client; null at the end of the stream. */
  data(bytes: Buffer | null): void;
  /** The body that was requested; undefined if it is too long. */
  body?(bytes: Buffer | undefined): void;
  /** So many written bytes were handed to the client's connection. */
  taken(count: number): void;
  /** All bytes, and the end of the stream, were flushed. */
  ended?(): void;
  /** The client has disconnected. */
  left(): void;
}

export interface Wire {
  readonly outbox: MainThreadOutbox;
  /** Drops the listener: no messages about this id follow in either direction. */
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

  /** False when so much is in flight that the caller should wait for `drained`. */
  write(bytes: Uint8Array): boolean {
    const slice = this.#wire.outbox.add(bytes);
    this.#wire.outbox.put({ form: "chunk", id: this.#id, bytes: slice });
    return this.#ahead(bytes.length);
  }

  writeChunk(bytes: ChunkBytes): boolean {
    this.#wire.outbox.putChunk(this.#id, bytes);
    return this.#ahead(bytes.chunk.length);
  }

  /** Calls back when writing may continue, or when the client has disconnected. One callback at a time. */
  drained(callback: () => void): void {
    if (this.#aheadBytes < AHEAD_BYTES_MAX) callback();
    else this.#whenDrained = callback;
  }

  taken(count: number): void {
    this.#aheadBytes -= count;
    if (this.#aheadBytes < AHEAD_BYTES_MAX) this.#wake();
  }

  /** The client has disconnected: a pending `drained` callback is called. */
  left(): void {
    this.#aheadBytes = 0;
    this.#wake();
  }

  /** Reports consumed bytes, so that the HTTP thread reads more from the client. */
  pulled(count: number): void {
    this.#takenBytes += count;
    if (this.#takenBytes < REPORT_BYTES_MIN) return;
    this.#wire.outbox.put({ form: "pulled", id: this.#id, count: this.#takenBytes });
    this.#takenBytes = 0;
  }

  say(message: FromMainThread): void {
    this.#wire.outbox.put(message);
  }

  sayLast(message: FromMainThread): void {
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
