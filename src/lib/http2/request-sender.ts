/**
 * Sends header blocks and request bodies within the limits that the server sets: its windows for each
 * stream and for the connection, its frame size. What does not fit waits and goes out in the order in
 * which it came, stream by stream, when the server gives more room.
 */
import type { StreamState } from "./client-stream.ts";
import {
  FLAG,
  FRAME,
  FRAME_BYTES_DEFAULT,
  FRAME_HEADER_BYTES,
  frame,
  WINDOW_DEFAULT,
  WINDOW_MAX,
  writeFrameHeader,
} from "./frames.ts";
import { EMPTY_TABLE_UPDATE } from "./hpack-encode.ts";
import { Http2Error } from "./http2-error.ts";
import type { Outbox } from "./outbox.ts";

/** Larger frames would hold up other streams. */
const FRAME_BYTES_MAX = 64 * 1024;

export class RequestSender {
  readonly #outbox: Outbox;
  readonly #blocked = new Set<StreamState>();
  #window = WINDOW_DEFAULT;
  #initialWindow = WINDOW_DEFAULT;
  #frameBytesMax = FRAME_BYTES_DEFAULT;
  /** The server changed the size of its table: the next block has to say which size is used. */
  #mustSendTableSize = false;

  constructor(outbox: Outbox) {
    this.#outbox = outbox;
  }

  headers(stream: StreamState): void {
    stream.sendWindow = this.#initialWindow;
    let block = stream.headerBlock;
    if (this.#mustSendTableSize) {
      block = Buffer.concat([EMPTY_TABLE_UPDATE, block]);
      this.#mustSendTableSize = false;
    }
    this.#outbox.push(frame(FRAME.headers, FLAG.endHeaders, stream.id, block));
  }

  /** Sends what is pending, as far as it may be sent. */
  send(stream: StreamState): void {
    while (stream.pendingBytes > 0) {
      const room = Math.min(this.#window, stream.sendWindow);
      if (room <= 0 || this.#outbox.isFull) {
        this.#blocked.add(stream);
        return;
      }
      this.#sendFrame(stream, Math.min(stream.pendingBytes, room, this.#frameBytesMax));
    }
    this.#blocked.delete(stream);
    if (stream.isEnding && !stream.hasEnded) this.#sendFrame(stream, 0);
  }

  forget(stream: StreamState): void {
    this.#blocked.delete(stream);
  }

  sendBlocked(): void {
    for (const stream of [...this.#blocked]) this.send(stream);
  }

  /** The server gives more room, to one stream or to the whole connection. */
  enlarge(stream: StreamState | undefined, bytes: number): void {
    if (stream === undefined) {
      this.#window = grown(this.#window, bytes);
      this.sendBlocked();
    } else {
      stream.sendWindow = grown(stream.sendWindow, bytes);
      if (this.#blocked.has(stream)) this.send(stream);
    }
  }

  tableSizeChanged(): void {
    this.#mustSendTableSize = true;
  }

  frameBytesMaxChanged(bytes: number): void {
    this.#frameBytesMax = Math.min(bytes, FRAME_BYTES_MAX);
  }

  /** Streams that are open get or lose the difference; a window may become negative. */
  initialWindowChanged(bytes: number, streams: Iterable<StreamState>): void {
    const difference = bytes - this.#initialWindow;
    this.#initialWindow = bytes;
    for (const stream of streams) stream.sendWindow = grown(stream.sendWindow, difference);
    this.sendBlocked();
  }

  #sendFrame(stream: StreamState, length: number): void {
    this.#window -= length;
    stream.sendWindow -= length;
    stream.pendingBytes -= length;
    stream.hasEnded = stream.isEnding && stream.pendingBytes === 0;
    const flags = stream.hasEnded ? FLAG.endStream : 0;
    const header = Buffer.allocUnsafe(FRAME_HEADER_BYTES);
    writeFrameHeader(header, 0, { length, type: FRAME.data, flags, streamId: stream.id });
    this.#outbox.push(header);
    for (let left = length; left > 0; ) {
      const part = stream.pending[0]!;
      if (part.length <= left) {
        this.#outbox.push(part);
        stream.pending.shift();
        left -= part.length;
      } else {
        this.#outbox.push(part.subarray(0, left));
        stream.pending[0] = part.subarray(left);
        left = 0;
      }
    }
  }
}

function grown(window: number, bytes: number): number {
  if (window + bytes > WINDOW_MAX) {
    throw new Http2Error("FLOW_CONTROL_ERROR", "the server made a window too large");
  }
  return window + bytes;
}
