/**
 * A call with a stream of answers, and of requests if the method has one.
 *
 * Promises:
 * 1. `onMessage` gets the answers in order, then `onEnd` is called once; neither after `cancel`.
 * 2. While it is paused nothing is handed over, and the server can send one window at most.
 */
import type { Http2Stream, StreamHandler } from "#lib/http2/client-stream.ts";
import type { HeaderField } from "#lib/http2/hpack-static-table.ts";
import type { Http2Connection } from "#lib/http2/http2-connection.ts";
import { Http2Error } from "#lib/http2/http2-error.ts";
import type { UnitSplitter } from "#lib/http2/split-units.ts";
import { type GrpcMethod, messageCutter, messagePrefix } from "./grpc-messages.ts";
import {
  errorOfHeaders,
  errorOfHttp2,
  errorOfTrailers,
  GrpcError,
  hasGrpcStatus,
  internalError,
} from "./grpc-status.ts";

export interface GrpcStreamHandler<Response> {
  onMessage(message: Response): void;
  /** Without an error the server ended the stream with OK. */
  onEnd(error: GrpcError | undefined): void;
}

export interface GrpcStreamOptions<Request, Response> extends GrpcStreamHandler<Response> {
  readonly method: GrpcMethod<Request, Response>;
  readonly messageBytesMax: number;
}

export class GrpcStream<Request, Response> implements StreamHandler {
  readonly #options: GrpcStreamOptions<Request, Response>;
  readonly #messages: UnitSplitter;
  #stream: Http2Stream | undefined;
  /** Received while it is paused: one window at most. */
  #held: Buffer[] = [];
  #heldEnd: { readonly error: GrpcError | undefined } | undefined;
  #hasHeaders = false;
  #isPaused = false;
  #isOver = false;

  constructor(options: GrpcStreamOptions<Request, Response>) {
    this.#options = options;
    const { method, messageBytesMax } = options;
    this.#messages = messageCutter(
      (bytes) => method.response.decode(bytes),
      messageBytesMax,
      (message) => {
        if (!this.#isOver) options.onMessage(message);
      },
    );
  }

  /** Throws GrpcError if the connection takes no streams. */
  start(connection: Http2Connection, headerBlock: Uint8Array): void {
    try {
      this.#stream = connection.open(headerBlock, this);
    } catch (error) {
      throw error instanceof Http2Error ? errorOfHttp2(error) : error;
    }
  }

  write(message: Request, { isLast = false } = {}): void {
    const bytes = this.#options.method.request.encode(message);
    this.#stream?.write(messagePrefix(bytes.length), isLast, bytes);
  }

  pause(): void {
    this.#isPaused = true;
    this.#stream?.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    while (!this.#isPaused && !this.#isOver && this.#held.length > 0) {
      this.#take(this.#held.shift()!);
    }
    if (this.#isPaused) return;
    this.#stream?.resume();
    if (this.#heldEnd !== undefined) this.#finish(this.#heldEnd.error);
  }

  cancel(): void {
    this.#isOver = true;
    this.#held = [];
    this.#stream?.cancel();
    this.#stream = undefined;
  }

  onHeaders(fields: readonly HeaderField[], isEnd: boolean): void {
    if (!this.#hasHeaders) {
      this.#hasHeaders = true;
      const error = errorOfHeaders(fields);
      if (error !== undefined) this.#end(hasGrpcStatus(fields) ? errorOfTrailers(fields) : error);
      else if (isEnd) this.#end(errorOfTrailers(fields));
    } else this.#end(errorOfTrailers(fields));
  }

  onData(bytes: Buffer): void {
    if (this.#isPaused) this.#held.push(bytes);
    else this.#take(bytes);
  }

  onClose(error: Http2Error | undefined): void {
    this.#stream = undefined;
    if (this.#isOver) return;
    this.#end(error === undefined ? internalError("there is no status") : errorOfHttp2(error));
  }

  #take(bytes: Buffer): void {
    if (this.#isOver) return;
    try {
      this.#messages.push(bytes);
    } catch (error) {
      if (!(error instanceof GrpcError)) throw error;
      this.#stream?.cancel();
      this.#finish(error);
    }
  }

  /** Comes after everything that is held. The first end counts. */
  #end(error: GrpcError | undefined): void {
    if (this.#isPaused && this.#held.length > 0) this.#heldEnd ??= { error };
    else this.#finish(error);
  }

  #finish(error: GrpcError | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#held = [];
    this.#stream?.cancel();
    this.#stream = undefined;
    this.#options.onEnd(error);
  }
}
