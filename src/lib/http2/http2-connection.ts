/**
 * The client's side of one HTTP/2 connection (RFC 9113), made for many small requests: a request costs
 * two frames in a write that all requests of the same turn share, an answer is not copied.
 *
 * Promises:
 * 1. A handler gets the headers, the data and the end of its stream in order, and `onClose` exactly
 *    once unless it cancelled. When the connection ends, all streams do.
 * 2. The server's limits are respected: streams at once, windows, frame size. Streams above its limit
 *    wait; more than WAITING_MAX are refused.
 * 3. The server's answers are limited: STREAM_WINDOW bytes for a paused stream, CONNECTION_WINDOW for
 *    all, HEADER_LIST_BYTES_MAX of headers. A server that breaks the protocol is left.
 * 4. After GOAWAY the streams that the server still serves go on, the others end with `notProcessed`,
 *    and no stream is opened any more (`isOpen`).
 * 5. Every PING is acknowledged (ping-replies.ts).
 */
import type { Duplex } from "node:stream";
import { messageOf } from "#lib/caught.ts";
import { Fifo } from "#lib/collections/fifo.ts";
import type { Clock } from "#lib/time/clock.ts";
import {
  ClientStream,
  type Http2Stream,
  newStreamState,
  type StreamHandler,
  type StreamOwner,
  type StreamState,
} from "./client-stream.ts";
import {
  FLAG,
  FRAME,
  FRAME_BYTES_DEFAULT,
  FRAME_HEADER_BYTES,
  frame,
  goawayFrame,
  PREFACE,
  readFrameHeader,
  rstStreamFrame,
  SETTING,
  settingsFrame,
  WINDOW_DEFAULT,
  WINDOW_MAX,
  windowUpdateFrame,
} from "./frames.ts";
import { HeaderBlocks, type ReceivedHeaders } from "./header-blocks.ts";
import { HEADER_LIST_BYTES_MAX } from "./hpack-decoder.ts";
import { Http2Error, http2CodeOf } from "./http2-error.ts";
import { KeepAlive, type KeepAliveTimes } from "./keep-alive.ts";
import { Outbox } from "./outbox.ts";
import { PingReplies } from "./ping-replies.ts";
import {
  badSize,
  broken,
  checkedLength,
  lost,
  overflow,
  withoutPadding,
} from "./protocol-faults.ts";
import { RequestSender } from "./request-sender.ts";
import { UnitSplitter } from "./split-units.ts";

export const STREAM_WINDOW = 1024 * 1024;
export const CONNECTION_WINDOW = 16 * 1024 * 1024;
const WAITING_MAX = 10_000;
const STREAM_ID_MAX = 2 ** 31 - 1;
const PING_BYTES = 8;
export interface ConnectionOptions {
  readonly clock: Clock;
  /** None unless given: many servers do not allow pings. */
  readonly keepAlive?: KeepAliveTimes | undefined;
  /** Whether the connection stays on this machine. */
  readonly isLocal?: boolean;
  /**
   * Ends the connection and discards what was not delivered yet. Without it the kernel would deliver a
   * request minutes after it was given up, once a broken network is whole again.
   */
  reset?(): void;
  /** Called once, when the server has said what it allows. */
  onReady?(): void;
  /** The connection has ended; every stream was notified before. */
  onEnd?(error: Http2Error): void;
}

export class Http2Connection {
  readonly #socket: Duplex;
  readonly #options: ConnectionOptions;
  readonly #outbox: Outbox;
  readonly #sender: RequestSender;
  readonly #pingReplies: PingReplies;
  readonly #keepAlive: KeepAlive | undefined;
  readonly #headers = new HeaderBlocks();
  readonly #streams = new Map<number, StreamState>();
  readonly #waiting = new Fifo<StreamState>();
  readonly #frames: UnitSplitter;
  readonly #owner: StreamOwner = {
    write: (stream, isEnd, bytes, more) => this.#write(stream, isEnd, bytes, more),
    resume: (stream) => this.#resume(stream),
    cancel: (stream) => this.#cancel(stream),
  };
  #nextId = 1;
  #receivedAtMs = 0;
  #streamsMax = Number.POSITIVE_INFINITY;
  #unacknowledgedBytes = 0;
  #isReady = false;
  #isDraining = false;
  #end: Http2Error | undefined;

  constructor(socket: Duplex, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#outbox = new Outbox(socket, () => this.#sender.sendBlocked());
    this.#sender = new RequestSender(this.#outbox);
    this.#pingReplies = new PingReplies({
      clock: options.clock,
      isLocal: options.isLocal === true,
      push: (bytes) => this.#outbox.push(bytes),
    });
    this.#keepAlive =
      options.keepAlive &&
      new KeepAlive({
        clock: options.clock,
        ...options.keepAlive,
        isNeeded: () => this.#streams.size > 0,
        ping: () => this.#outbox.push(frame(FRAME.ping, 0, 0, Buffer.alloc(PING_BYTES))),
        giveUp: () => this.abandon(),
      });
    this.#frames = new UnitSplitter({
      headerBytes: FRAME_HEADER_BYTES,
      bodyLength: checkedLength,
      take: (bytes, offset, end) => this.#receive(bytes, offset, end),
    });
  }

  /** Sends the preface and reads from the socket from now on. */
  start(): void {
    const settings = [
      [SETTING.enablePush, 0],
      [SETTING.initialWindowSize, STREAM_WINDOW],
      [SETTING.maxHeaderListSize, HEADER_LIST_BYTES_MAX],
    ] as const;
    this.#outbox.push(PREFACE);
    this.#outbox.push(settingsFrame(settings));
    this.#outbox.push(windowUpdateFrame(0, CONNECTION_WINDOW - WINDOW_DEFAULT));
    this.#outbox.flush();
    this.#socket.on("data", (chunk: Buffer) => this.#read(chunk));
    this.#socket.on("error", (error) => this.#fail(lost(messageOf(error))));
    this.#socket.on("close", () => this.#fail(lost("the connection was closed")));
  }

  /** Whether streams can be opened. */
  get isOpen(): boolean {
    return this.#end === undefined && !this.#isDraining && this.#nextId <= STREAM_ID_MAX;
  }

  /** Streams that are open or wait for it. */
  get streamCount(): number {
    return this.#streams.size + this.#waiting.size;
  }

  /** When the last bytes came, by the clock's `elapsedMs`. */
  get heardAtMs(): number {
    return this.#receivedAtMs;
  }

  /** The request's headers as encodeHeaders makes them. Throws Http2Error if none can be opened. */
  open(headerBlock: Uint8Array, handler: StreamHandler): Http2Stream {
    if (!this.isOpen) throw this.#end ?? lost("the connection is ending", true);
    const stream = newStreamState(headerBlock, handler);
    if (this.#waiting.size === 0 && this.#streams.size < this.#streamsMax) this.#begin(stream);
    else if (this.#waiting.size < WAITING_MAX) this.#waiting.push(stream);
    else {
      const message = "too many requests wait for the server";
      throw new Http2Error("ENHANCE_YOUR_CALM", message, { notProcessed: true });
    }
    return new ClientStream(this.#owner, stream);
  }

  /** There is reason to doubt that the server answers. */
  check(): void {
    if (this.#end === undefined) this.#keepAlive?.check();
  }

  /** Ends all streams and the connection. */
  close(): void {
    this.#fail(new Http2Error("CANCEL", "the client closed the connection"), "NO_ERROR");
  }

  /** Ends it because the server does not answer: what it was sent and did not get, it will never get. */
  abandon(): void {
    this.#fail(new Http2Error("CONNECT_ERROR", "the server does not answer"), "reset");
  }

  #begin(stream: StreamState): void {
    stream.id = this.#nextId;
    this.#nextId += 2;
    if (this.#streams.size === 0) this.#keepAlive?.start();
    this.#streams.set(stream.id, stream);
    this.#sender.headers(stream);
    this.#sender.send(stream);
  }

  #beginWaiting(): void {
    while (this.#streams.size < this.#streamsMax && this.isOpen) {
      const stream = this.#waiting.shift();
      if (stream === undefined) return;
      if (!stream.isClosed) this.#begin(stream);
    }
  }

  #write(
    stream: StreamState,
    isEnd: boolean,
    bytes: Uint8Array,
    more: Uint8Array | undefined,
  ): void {
    if (stream.isClosed || stream.isEnding) return;
    if (bytes.length > 0) stream.pending.push(bytes);
    if (more !== undefined && more.length > 0) stream.pending.push(more);
    stream.pendingBytes += bytes.length + (more?.length ?? 0);
    stream.isEnding = isEnd;
    if (stream.id !== 0) this.#sender.send(stream);
    this.#pingReplies.requestSent();
  }

  #resume(stream: StreamState): void {
    stream.isPaused = false;
    if (stream.id !== 0) this.#giveRoom(stream);
  }

  #cancel(stream: StreamState): void {
    if (stream.isClosed) return;
    if (stream.id !== 0) this.#outbox.push(rstStreamFrame(stream.id, "CANCEL"));
    this.#remove(stream);
  }

  /** Takes a stream out of everything; its place goes to one that waits. */
  #remove(stream: StreamState): void {
    stream.isClosed = true;
    stream.pending.length = 0;
    stream.pendingBytes = 0;
    this.#sender.forget(stream);
    if (!this.#streams.delete(stream.id)) return;
    if (this.#waiting.size > 0) this.#beginWaiting();
    if (this.#isDraining && this.#streams.size === 0) this.#fail(lost("the server ended it"));
  }

  #close(stream: StreamState, error: Http2Error | undefined): void {
    if (stream.isClosed) return;
    this.#remove(stream);
    stream.handler.onClose(error);
  }

  /** Ends the connection, at most once: with a last word to the server, or by a reset. */
  #fail(error: Http2Error, ending: Http2Error["code"] | "reset" = error.code): void {
    if (this.#end !== undefined) return;
    this.#end = error;
    this.#keepAlive?.stop();
    if (ending !== "reset") {
      this.#outbox.push(goawayFrame(0, ending, error.message));
      this.#outbox.flush();
      this.#socket.destroy();
    } else if (this.#options.reset === undefined) this.#socket.destroy();
    else this.#options.reset();
    const { code, message } = error;
    for (const stream of [...this.#streams.values()]) this.#close(stream, error);
    for (let stream = this.#waiting.shift(); stream; stream = this.#waiting.shift()) {
      this.#close(stream, new Http2Error(code, message, { notProcessed: true }));
    }
    this.#options.onEnd?.(error);
  }

  #read(chunk: Buffer): void {
    if (this.#end !== undefined) return;
    this.#keepAlive?.received();
    this.#receivedAtMs = this.#options.clock.elapsedMs();
    try {
      this.#frames.push(chunk);
    } catch (error) {
      if (!(error instanceof Http2Error)) throw error;
      this.#fail(error);
    }
  }

  #receive(bytes: Buffer, offset: number, end: number): void {
    if (this.#end !== undefined) return;
    const { type, flags, streamId } = readFrameHeader(bytes, offset);
    const payload = bytes.subarray(offset + FRAME_HEADER_BYTES, end);
    if (!this.#isReady && type !== FRAME.settings) throw broken("SETTINGS do not come first");
    if (this.#headers.isOpen && type !== FRAME.continuation) {
      throw broken("a header block is interrupted");
    }
    if (type === FRAME.data) this.#receiveData(streamId, flags, payload);
    else if (type === FRAME.headers || type === FRAME.continuation) {
      const received = this.#headers.receive(type, streamId, flags, payload);
      if (received !== undefined) this.#receiveHeaders(received);
    } else if (type === FRAME.windowUpdate) this.#receiveWindowUpdate(streamId, payload);
    else if (type === FRAME.rstStream) this.#receiveReset(streamId, payload);
    else if (type === FRAME.settings) this.#receiveSettings(flags, payload);
    else if (type === FRAME.ping) this.#receivePing(flags, payload);
    else if (type === FRAME.goaway) this.#receiveGoaway(payload);
    else if (type === FRAME.pushPromise) throw broken("pushes are not allowed");
    // Other types are of extensions, or say nothing to a client.
  }

  #receiveData(streamId: number, flags: number, payload: Buffer): void {
    // Padding counts, too.
    this.#unacknowledgedBytes += payload.length;
    if (this.#unacknowledgedBytes > CONNECTION_WINDOW) throw overflow();
    if (this.#unacknowledgedBytes >= CONNECTION_WINDOW / 2) {
      this.#outbox.push(windowUpdateFrame(0, this.#unacknowledgedBytes));
      this.#unacknowledgedBytes = 0;
    }
    const stream = this.#streamOf(streamId);
    if (stream === undefined) return;
    stream.unacknowledgedBytes += payload.length;
    if (stream.unacknowledgedBytes > STREAM_WINDOW) throw overflow();
    const data = withoutPadding(flags, payload);
    const isEnd = (flags & FLAG.endStream) !== 0;
    if (isEnd) this.#finish(stream);
    if (data.length > 0) stream.handler.onData(data);
    if (isEnd) stream.handler.onClose(undefined);
    else this.#giveRoom(stream);
  }

  /** WINDOW_UPDATE is sent in large steps, and not for a paused stream. */
  #giveRoom(stream: StreamState): void {
    const { unacknowledgedBytes, isClosed, isPaused, id } = stream;
    if (isClosed || isPaused || unacknowledgedBytes < STREAM_WINDOW / 2) return;
    stream.unacknowledgedBytes = 0;
    this.#outbox.push(windowUpdateFrame(id, unacknowledgedBytes));
  }

  #receiveHeaders({ streamId, isEnd, fields }: ReceivedHeaders): void {
    const stream = this.#streamOf(streamId);
    if (stream === undefined) return;
    if (isEnd) this.#finish(stream);
    stream.handler.onHeaders(fields, isEnd);
    if (isEnd) stream.handler.onClose(undefined);
  }

  /** The server has sent all that it will. */
  #finish(stream: StreamState): void {
    if (!stream.hasEnded) this.#outbox.push(rstStreamFrame(stream.id, "NO_ERROR"));
    this.#remove(stream);
  }

  #receiveWindowUpdate(streamId: number, payload: Buffer): void {
    if (payload.length !== 4) throw badSize("WINDOW_UPDATE");
    const bytes = payload.readUInt32BE(0) & WINDOW_MAX;
    if (streamId === 0) {
      if (bytes === 0) throw broken("a window grows by nothing");
      this.#sender.enlarge(undefined, bytes);
      return;
    }
    const stream = this.#streamOf(streamId);
    if (stream === undefined) return;
    if (bytes > 0) {
      this.#sender.enlarge(stream, bytes);
      return;
    }
    this.#outbox.push(rstStreamFrame(streamId, "PROTOCOL_ERROR"));
    this.#close(stream, broken("a window grows by nothing"));
  }

  #receiveReset(streamId: number, payload: Buffer): void {
    if (payload.length !== 4) throw badSize("RST_STREAM");
    const stream = this.#streamOf(streamId);
    if (stream === undefined) return;
    const code = http2CodeOf(payload.readUInt32BE(0));
    const notProcessed = code === "REFUSED_STREAM";
    const message = `the server ended the stream with ${code}`;
    this.#close(stream, new Http2Error(code, message, { notProcessed }));
  }

  #receiveSettings(flags: number, payload: Buffer): void {
    if ((flags & FLAG.ack) !== 0) return;
    if (payload.length % 6 !== 0) throw badSize("SETTINGS");
    // The acknowledgement comes before everything that is sent by the new settings.
    this.#outbox.push(frame(FRAME.settings, FLAG.ack, 0, Buffer.alloc(0)));
    for (let offset = 0; offset < payload.length; offset += 6) {
      this.#apply(payload.readUInt16BE(offset), payload.readUInt32BE(offset + 2));
    }
    if (!this.#isReady) {
      this.#isReady = true;
      this.#options.onReady?.();
    }
    this.#beginWaiting();
  }

  #apply(setting: number, value: number): void {
    if (setting === SETTING.headerTableSize) this.#sender.tableSizeChanged();
    else if (setting === SETTING.maxConcurrentStreams) this.#streamsMax = value;
    else if (setting === SETTING.initialWindowSize) {
      if (value > WINDOW_MAX) throw overflow();
      this.#sender.initialWindowChanged(value, this.#streams.values());
    } else if (setting === SETTING.maxFrameSize) {
      if (value < FRAME_BYTES_DEFAULT) throw broken(`frames of ${value} bytes`);
      this.#sender.frameBytesMaxChanged(value);
    }
  }

  #receivePing(flags: number, payload: Buffer): void {
    if (payload.length !== PING_BYTES) throw badSize("PING");
    if ((flags & FLAG.ack) === 0) this.#pingReplies.receive(payload);
  }

  #receiveGoaway(payload: Buffer): void {
    if (payload.length < 8) throw badSize("GOAWAY");
    const lastId = payload.readUInt32BE(0) & WINDOW_MAX;
    const code = http2CodeOf(payload.readUInt32BE(4));
    const why = payload.subarray(8, 264).toString();
    const message = `the server ends the connection: ${code}${why === "" ? "" : ` (${why})`}`;
    const refused = new Http2Error(code, message, { notProcessed: true });
    this.#isDraining = true;
    for (const [id, stream] of [...this.#streams]) if (id > lastId) this.#close(stream, refused);
    for (let stream = this.#waiting.shift(); stream; stream = this.#waiting.shift()) {
      this.#close(stream, refused);
    }
    if (this.#streams.size === 0) this.#fail(lost(message));
  }

  /** Undefined for a stream that is over: frames for it may still be under way. */
  #streamOf(streamId: number): StreamState | undefined {
    if (streamId % 2 === 0 || streamId >= this.#nextId)
      throw broken(`a frame of stream ${streamId}`);
    return this.#streams.get(streamId);
  }
}
