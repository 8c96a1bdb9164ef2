/** Gathers messages for the other thread, and sends what came together as one. */
import type { Batch, Slice } from "./messages.ts";

interface Port {
  postMessage(value: unknown, transfer: readonly ArrayBuffer[]): void;
}

export class Outbox<Message> {
  readonly #port: Port;
  readonly #schedule: (flush: () => void) => void;
  #messages: Message[] = [];
  #pieces: Uint8Array[] = [];
  #places = new Map<Uint8Array, Slice>();
  #length = 0;

  /** `schedule` says when a batch that has begun is sent. */
  constructor(port: Port, schedule: (flush: () => void) => void) {
    this.#port = port;
    this.#schedule = schedule;
  }

  /** A batch has begun and not gone. */
  get waiting(): boolean {
    return this.#messages.length > 0;
  }

  put(message: Message): void {
    if (this.#messages.push(message) === 1) this.#schedule(this.#flush);
  }

  /**
   * For a message that is put next. The bytes must stay as they are until the batch has gone; the
   * same array, handed in again, is not sent again.
   */
  add(bytes: Uint8Array): Slice {
    if (isShared(bytes)) return bytes;
    const known = this.#places.get(bytes);
    if (known !== undefined) return known;
    const from = this.#length;
    const slice = { from, to: from + bytes.length };
    this.#places.set(bytes, slice);
    this.#pieces.push(bytes);
    this.#length = slice.to;
    return slice;
  }

  readonly #flush = (): void => {
    const bytes = Buffer.allocUnsafeSlow(this.#length);
    let at = 0;
    for (const piece of this.#pieces) {
      bytes.set(piece, at);
      at += piece.length;
    }
    const batch: Batch<Message> = { messages: this.#messages, bytes };
    this.#messages = [];
    this.#pieces = [];
    this.#places = new Map();
    this.#length = 0;
    this.#port.postMessage(batch, bytes.length === 0 ? [] : [bytes.buffer]);
  };
}

/** Hands each message of a batch on, with its bytes. */
export function unpack<Message>(
  { messages, bytes }: Batch<Message>,
  take: (message: Message, bytesAt: (slice: Slice) => Buffer) => void,
): void {
  const { buffer, byteOffset } = bytes;
  const bytesAt = (slice: Slice): Buffer => {
    if (slice instanceof Uint8Array) {
      return Buffer.from(slice.buffer, slice.byteOffset, slice.length);
    }
    return Buffer.from(buffer as ArrayBuffer, byteOffset + slice.from, slice.to - slice.from);
  };
  for (const message of messages) take(message, bytesAt);
}

function isShared(bytes: Uint8Array): bytes is Uint8Array<SharedArrayBuffer> {
  return bytes.buffer instanceof SharedArrayBuffer;
}
