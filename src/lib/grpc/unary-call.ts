/** One request, one answer. Settles once; what comes later is dropped. */

import type { Http2Stream, StreamHandler } from "#lib/http2/client-stream.ts";
import type { HeaderField } from "#lib/http2/hpack-static-table.ts";
import type { Http2Connection } from "#lib/http2/http2-connection.ts";
import { Http2Error } from "#lib/http2/http2-error.ts";
import type { UnitSplitter } from "#lib/http2/split-units.ts";
import type { Deadline } from "#lib/time/deadlines.ts";
import { decodeMessage, messageCutter, messagePrefix, onlyMessage } from "./grpc-messages.ts";
import {
  errorOfHeaders,
  errorOfHttp2,
  errorOfTrailers,
  GRPC_CODES,
  GrpcError,
  hasGrpcStatus,
  internalError,
} from "./grpc-status.ts";

/** A server that works sends something more often than this. */
const SILENT_MS = 500;

export interface UnaryCallOptions<Response> {
  readonly atMs: number;
  readonly messageBytesMax: number;
  decode(bytes: Uint8Array): Response;
  resolve(response: Response): void;
  reject(error: unknown): void;
  /** Called once, before `resolve` or `reject`. */
  settled(call: UnaryCall<Response>): void;
}

export class UnaryCall<Response> implements StreamHandler, Deadline {
  readonly atMs: number;
  readonly #options: UnaryCallOptions<Response>;
  /** For an answer that does not come in one piece. */
  #messages: UnitSplitter | undefined;
  #connection: Http2Connection | undefined;
  #stream: Http2Stream | undefined;
  #answer: { readonly message: Response } | undefined;
  #hasHeaders = false;
  #isSettled = false;

  constructor(options: UnaryCallOptions<Response>) {
    this.#options = options;
    this.atMs = options.atMs;
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  send(connection: Http2Connection, headerBlock: Uint8Array, request: Buffer): void {
    if (this.#isSettled) return;
    try {
      const stream = connection.open(headerBlock, this);
      this.#connection = connection;
      this.#stream = stream;
      stream.write(messagePrefix(request.length), true, request);
    } catch (error) {
      if (!(error instanceof Http2Error)) throw error;
      this.fail(errorOfHttp2(error));
    }
  }

  onHeaders(fields: readonly HeaderField[], isEnd: boolean): void {
    if (!this.#hasHeaders) {
      this.#hasHeaders = true;
      const error = errorOfHeaders(fields);
      if (error !== undefined) this.fail(hasGrpcStatus(fields) ? errorOfTrailers(fields) : error);
      else if (isEnd) this.fail(errorOfTrailers(fields) ?? internalError("there is no answer"));
      return;
    }
    const error = errorOfTrailers(fields);
    if (error !== undefined) this.fail(error);
    else if (this.#answer === undefined) this.fail(internalError("there is no answer"));
    else if (this.#settle()) this.#options.resolve(this.#answer.message);
  }

  onData(bytes: Buffer): void {
    if (this.#isSettled) return;
    const { decode, messageBytesMax } = this.#options;
    try {
      const message =
        this.#messages === undefined ? onlyMessage(bytes, messageBytesMax) : undefined;
      if (message !== undefined) {
        this.#take(decodeMessage(decode, message));
        return;
      }
      this.#messages ??= messageCutter(decode, messageBytesMax, (one) => this.#take(one));
      this.#messages.push(bytes);
    } catch (error) {
      this.fail(error);
    }
  }

  #take(message: Response): void {
    if (this.#answer !== undefined) throw internalError("the server answers twice");
    this.#answer = { message };
  }

  onClose(error: Http2Error | undefined): void {
    this.#stream = undefined;
    if (this.#isSettled) return;
    this.fail(error === undefined ? internalError("there is no status") : errorOfHttp2(error));
  }

  /** The deadline has passed. A connection on which nothing has come for a while is checked. */
  expire(): void {
    const connection = this.#connection;
    if (connection !== undefined && this.atMs - connection.heardAtMs >= SILENT_MS) {
      connection.check();
    }
    this.fail(new GrpcError(GRPC_CODES.DEADLINE_EXCEEDED, "Deadline exceeded"));
  }

  fail(error: unknown): void {
    if (!this.#settle()) return;
    this.#stream?.cancel();
    this.#options.reject(error);
  }

  #settle(): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    this.#options.settled(this);
    return true;
  }
}
