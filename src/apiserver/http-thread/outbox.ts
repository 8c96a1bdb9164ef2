/** Collects messages for the other thread and sends them in batches. */
import type { Batch, Slice } from "./messages.ts";

interface Port {
  postMessage(value: unknown, transfer: readonly ArrayBuffer[]): void;
}

export class Outbox<Message> {
  readonly #port: Port;
  readonly #schedule: (flush: () => void) => void;
  #messages: Message[] = [];
  #parts: Uint8Array[] = [];
  #places = new Map<Uint8Array, Slice>();
  #length = 0;

  /** `schedule` decides when a batch that was begun is sent. */
  constructor(port: Port, schedule: (flush: () => void) => void) {
    this.#port = port;
    this.#schedule = schedule;
  }

  /** A batch was begun and is not sent yet. */
  get waiting(): boolean {
    return this.#messages.length > 0;
  }

  put(message: Message): void {
    if (this.#messages.push(message) === 1) this.#schedule(this.#flush);
  }

  /**
   * Adds bytes for the next message. They must not change until the batch is sent; adding the same
   * array again does not send it twice.
   */
  add(bytes: Uint8Array): Slice {
    if (isShared(bytes)) return bytes;
    const known = this.#places.get(bytes);
    if (known !== undefined) return known;
    const from = this.#length;
    const slice = { from, to: from + bytes.length };
    this.#places.set(bytes, slice);
    this.#parts.push(bytes);
    this.#length = slice.to;
    return slice;
  }

  readonly #flush = (): void => {
    const bytes = Buffer.allocUnsafeSlow(this.#length);
    let at = 0;
    for (const part of this.#parts) {
      bytes.set(part, at);
      at += part.length;
    }
    const batch: Batch<Message> = { messages: this.#messages, bytes };
    this.#messages = [];
    this.#parts = [];
    this.#places = new Map();
    this.#length = 0;
    this.#port.postMessage(batch, bytes.length === 0 ? [] : [bytes.buffer]);
  };
}

/** Calls `take` for each message of a batch, with its bytes. */
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
