/**
 * gRPC calls to one server, over TCP or a Unix socket, with or without TLS.
 *
 * Promises:
 * 1. A call ends with an answer, with `GrpcError`, or with the signal's reason; never later than its
 *    deadline.
 * 2. The connection is made when it is first needed and made anew when a call finds it broken. After a
 *    failed attempt the next one waits for the backoff; calls in between fail with the same error.
 * 3. Nothing is repeated. `GrpcError.notProcessed` says which calls may be.
 * 4. `close` ends every call that is under way.
 */
import { Backoff } from "#lib/async/backoff.ts";
import {
  type Address,
  connectHttp2,
  type Dial,
  type TlsOptions,
} from "#lib/http2/connect-http2.ts";
import { encodeHeaders } from "#lib/http2/hpack-encode.ts";
import type { HeaderField } from "#lib/http2/hpack-static-table.ts";
import type { Http2Connection } from "#lib/http2/http2-connection.ts";
import { Http2Error } from "#lib/http2/http2-error.ts";
import type { KeepAliveTimes } from "#lib/http2/keep-alive.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { Deadlines } from "#lib/time/deadlines.ts";
import type { Tracer } from "#lib/tracing/tracer.ts";
import { inCallSpan } from "./call-span.ts";
import type { GrpcMethod } from "./grpc-messages.ts";
import { errorOfHttp2, GRPC_CODES, GrpcError } from "./grpc-status.ts";
import { GrpcStream, type GrpcStreamHandler } from "./grpc-stream.ts";
import { UnaryCall } from "./unary-call.ts";

export interface ChannelOptions {
  readonly address: Address;
  readonly dial?: Dial | undefined;
  readonly tls?: TlsOptions | undefined;
  readonly authority: string;
  /** Sent with every call. */
  readonly metadata?: readonly HeaderField[];
  readonly clock: Clock;
  readonly random: Random;
  readonly keepAlive?: KeepAliveTimes;
  readonly messageBytesMax: number;
  readonly connectTimeoutMs: number;
  readonly reconnectMsMax: number;
  /** Makes spans of calls that are made within a span, and sends their context to the server. */
  readonly tracer?: Tracer | undefined;
}

export interface CallOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** Waits for a server that cannot be reached yet, until the deadline. */
  readonly waitForReady?: boolean;
  /** Sent with this call. */
  readonly metadata?: readonly HeaderField[];
}

const RECONNECT_MS_MIN = 100;
/** Of one method. */
const TIMEOUTS_CACHED_MAX = 64;

export class GrpcChannel implements Disposable {
  readonly #options: ChannelOptions;
  readonly #deadlines: Deadlines;
  readonly #backoff: Backoff;
  readonly #closing = new AbortController();
  readonly #headerBlocks = new Map<string, Buffer>();
  /** Headers with a timeout, by path and timeout. */
  readonly #timeoutBlocks = new Map<string, Map<number, Buffer>>();
  #connection: Http2Connection | undefined;
  #connecting: Promise<Http2Connection> | undefined;
  /** The last attempt failed with this; until then nothing is tried. */
  #failure: { readonly error: GrpcError; readonly untilMs: number } | undefined;

  constructor(options: ChannelOptions) {
    const { clock, random, reconnectMsMax } = options;
    this.#options = options;
    this.#deadlines = new Deadlines(clock);
    const capMs = reconnectMsMax;
    this.#backoff = new Backoff({ baseMs: RECONNECT_MS_MIN, capMs, jitter: 0.2, random });
  }

  get isConnected(): boolean {
    return this.#connection?.isOpen === true;
  }

  /** Resolves when the channel is connected; rejects with GrpcError. */
  async connect(): Promise<void> {
    await this.#connect();
  }

  call<Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: Request,
    options: CallOptions = {},
  ): Promise<Response> {
    const { tracer, address } = this.#options;
    if (tracer?.isActive !== true) return this.#send(method, request, options);
    return inCallSpan(tracer, method.path, address, (metadata) =>
      this.#send(method, request, { ...options, metadata }),
    );
  }

  #send<Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: Request,
    { timeoutMs, signal, waitForReady = false, metadata }: CallOptions,
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const bytes = method.request.encode(request);
      const startMs = this.#options.clock.elapsedMs();
      const abort = (): void => call.fail(signal?.reason);
      const call = new UnaryCall<Response>({
        atMs: timeoutMs === undefined ? Number.POSITIVE_INFINITY : startMs + timeoutMs,
        messageBytesMax: this.#options.messageBytesMax,
        decode: (answer) => method.response.decode(answer),
        resolve,
        reject,
        settled: () => {
          if (timeoutMs !== undefined) this.#deadlines.delete(call);
          signal?.removeEventListener("abort", abort);
        },
      });
      if (timeoutMs !== undefined) this.#deadlines.add(call);
      signal?.addEventListener("abort", abort, { once: true });
      const block = this.#headersOf(method.path, timeoutMs);
      const headers =
        metadata === undefined ? block : Buffer.concat([block, encodeHeaders(metadata)]);
      if (this.#connection?.isOpen) call.send(this.#connection, headers, bytes);
      else void this.#sendLater(call, headers, bytes, waitForReady);
    });
  }

  /** Opens a stream. Rejects with GrpcError if there is no connection. */
  async open<Request, Response>(
    method: GrpcMethod<Request, Response>,
    handler: GrpcStreamHandler<Response>,
  ): Promise<GrpcStream<Request, Response>> {
    const { messageBytesMax } = this.#options;
    const connection = await this.#connect();
    const stream = new GrpcStream({
      method,
      messageBytesMax,
      onMessage: (message) => handler.onMessage(message),
      onEnd: (error) => handler.onEnd(error),
    });
    stream.start(connection, this.#headersOf(method.path, undefined));
    return stream;
  }

  close(): void {
    this.#closing.abort();
    this.#connection?.close();
    this.#deadlines[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async #sendLater<Response>(
    call: UnaryCall<Response>,
    headers: Buffer,
    bytes: Buffer,
    waitForReady: boolean,
  ): Promise<void> {
    const { clock } = this.#options;
    while (!call.isSettled) {
      try {
        call.send(await this.#connect(), headers, bytes);
        return;
      } catch (error) {
        if (!waitForReady || this.#closing.signal.aborted) {
          call.fail(error);
          return;
        }
        await clock.sleep(RECONNECT_MS_MIN);
      }
    }
  }

  async #connect(): Promise<Http2Connection> {
    if (this.#connection?.isOpen) return this.#connection;
    if (this.#closing.signal.aborted) throw closedError();
    const { clock } = this.#options;
    if (this.#failure !== undefined && clock.elapsedMs() < this.#failure.untilMs) {
      throw this.#failure.error;
    }
    this.#connecting ??= this.#attempt().finally(() => {
      this.#connecting = undefined;
    });
    return await this.#connecting;
  }

  async #attempt(): Promise<Http2Connection> {
    const { clock } = this.#options;
    try {
      const { signal } = this.#closing;
      const connection = await connectHttp2({ ...this.#options, signal, onEnd: () => undefined });
      this.#connection = connection;
      this.#failure = undefined;
      this.#backoff.reset();
      if (signal.aborted) connection.close();
      return connection;
    } catch (caught) {
      const error = caught instanceof Http2Error ? errorOfHttp2(caught) : caught;
      if (!(error instanceof GrpcError)) throw error;
      this.#failure = { error, untilMs: clock.elapsedMs() + this.#backoff.nextMs() };
      throw error;
    }
  }

  #headersOf(path: string, timeoutMs: number | undefined): Buffer {
    let block = this.#headerBlocks.get(path);
    if (block === undefined) {
      const { authority, tls, metadata = [] } = this.#options;
      block = encodeHeaders([
        [":method", "POST"],
        [":scheme", tls === undefined ? "http" : "https"],
        [":path", path],
        [":authority", authority],
        ["te", "trailers"],
        ["content-type", "application/grpc"],
        ["user-agent", "k8ts"],
        ...metadata,
      ]);
      this.#headerBlocks.set(path, block);
    }
    return timeoutMs === undefined
      ? block
      : this.#withTimeout(path, block, Math.max(1, Math.ceil(timeoutMs)));
  }

  #withTimeout(path: string, headers: Buffer, timeoutMs: number): Buffer {
    let blocks = this.#timeoutBlocks.get(path);
    if (blocks === undefined) {
      blocks = new Map();
      this.#timeoutBlocks.set(path, blocks);
    }
    let block = blocks.get(timeoutMs);
    if (block === undefined) {
      if (blocks.size >= TIMEOUTS_CACHED_MAX) blocks.clear();
      // At most eight digits are allowed.
      const value = timeoutMs < 1e8 ? `${timeoutMs}m` : `${Math.ceil(timeoutMs / 1000)}S`;
      block = Buffer.concat([headers, encodeHeaders([["grpc-timeout", value]])]);
      blocks.set(timeoutMs, block);
    }
    return block;
  }
}

function closedError(): GrpcError {
  return new GrpcError(GRPC_CODES.CANCELLED, "the client is closed", { notProcessed: true });
}
