/** One request and its answer on a connection. See Http2Connection, which changes its state. */
import type { HeaderField } from "./hpack-static-table.ts";
import type { Http2Error } from "./http2-error.ts";

/** Gets what comes for a stream. The calls must be quick and must not throw. */
export interface StreamHandler {
  /** The headers of the answer, or its trailers if `isEnd`. */
  onHeaders(fields: readonly HeaderField[], isEnd: boolean): void;
  onData(bytes: Buffer): void;
  /** Nothing follows. Without an error the server has ended the answer. Not called after `cancel`. */
  onClose(error: Http2Error | undefined): void;
}

export interface Http2Stream {
  /**
   * Sends bytes of the request, as far as the windows let it; the rest follows by itself. What is written
   * in one call goes out in one frame if it can.
   */
  write(bytes: Uint8Array, isEnd: boolean, more?: Uint8Array): void;
  /** The server may not send more than one window until `resume`. */
  pause(): void;
  resume(): void;
  /** Gives the stream up: nothing is handed to its handler any more. */
  cancel(): void;
}

/** The connection that a stream belongs to. */
export interface StreamOwner {
  write(stream: StreamState, isEnd: boolean, bytes: Uint8Array, more: Uint8Array | undefined): void;
  resume(stream: StreamState): void;
  cancel(stream: StreamState): void;
}

export class ClientStream implements Http2Stream {
  readonly #owner: StreamOwner;
  readonly #state: StreamState;

  constructor(owner: StreamOwner, state: StreamState) {
    this.#owner = owner;
    this.#state = state;
  }

  write(bytes: Uint8Array, isEnd: boolean, more?: Uint8Array): void {
    this.#owner.write(this.#state, isEnd, bytes, more);
  }

  pause(): void {
    this.#state.isPaused = true;
  }

  resume(): void {
    this.#owner.resume(this.#state);
  }

  cancel(): void {
    this.#owner.cancel(this.#state);
  }
}

/** What the connection keeps of a stream. */
export interface StreamState {
  /** 0 until it may be opened. */
  id: number;
  readonly headerBlock: Uint8Array;
  readonly handler: StreamHandler;
  /** Bytes that may be sent before the server gives more room. */
  sendWindow: number;
  readonly pending: Uint8Array[];
  pendingBytes: number;
  /** The request ends with what is pending. */
  isEnding: boolean;
  /** The end of the request was sent. */
  hasEnded: boolean;
  /** Received bytes for which the server was given no new room yet. */
  unacknowledgedBytes: number;
  isPaused: boolean;
  isClosed: boolean;
}

export function newStreamState(headerBlock: Uint8Array, handler: StreamHandler): StreamState {
  return {
    id: 0,
    headerBlock,
    handler,
    sendWindow: 0,
    pending: [],
    pendingBytes: 0,
    isEnding: false,
    hasEnded: false,
    unacknowledgedBytes: 0,
    isPaused: false,
    isClosed: false,
  };
}
