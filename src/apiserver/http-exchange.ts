/**
 * One request and its answer, over HTTP/1.1 or HTTP/2. Both protocols look the same from above.
 *
 * Promises:
 * 1. A request body is read up to BODY_BYTES_MAX; a longer one is not kept.
 * 2. `write` says whether the client keeps up; `drained` tells when it does again. Nobody has to
 *    buffer for a client that stopped reading.
 * 3. A request's signal aborts as soon as the client is gone. It is made only if it is asked for.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Readable, Writable } from "node:stream";
import type { OutgoingHeaders } from "./answer.ts";
import type { Deadline } from "./deadlines.ts";
import type { PieceBytes } from "./piece.ts";
import type { Peer } from "./request.ts";

export const BODY_BYTES_MAX = 3 * 1024 * 1024;
/** What may wait for a client before it counts as one that does not keep up. */
const UNSENT_BYTES_MAX = 64 * 1024;
/** So many bytes, or fewer, may be under way before `write` says that the client does not keep up. */
export const AHEAD_BYTES_MAX = 512 * 1024;

export interface HttpRequest {
  readonly method: string;
  /** As sent, with the query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[];
  readonly peer: Peer;
  readonly signal: AbortSignal;
  /** The client has left. */
  readonly gone: boolean;
  /** Names the request in its answer and in the audit log; whoever needs it first sets it. */
  auditId: string | undefined;
  /** Calls back when the client leaves, or has all of its answer; for one listener. */
  onGone(listener: () => void): void;
  /** Undefined when it is longer than BODY_BYTES_MAX. */
  readBody(): Promise<Uint8Array | undefined>;
  /** The body as it comes, for proxies. */
  readonly bodyStream: NodeJS.ReadableStream;
}

export interface Reply {
  /** A whole answer. To HEAD the body is announced, not sent. */
  send(code: number, headers: OutgoingHeaders, body: Uint8Array): void;
  /** The beginning of an answer that `write` and `end` go on with. */
  start(code: number, headers: OutgoingHeaders): void;
  /** False when the client does not keep up: write no more before `drained`. */
  write(bytes: Uint8Array): boolean;
  /** The same for what is sent to many. */
  writePiece(piece: PieceBytes): boolean;
  drained(): Promise<void>;
  end(): void;
  /** Ends the connection without a proper end of the answer. */
  destroy(): void;
  /** An answer has begun. */
  readonly started: boolean;
  /** The client has left. */
  readonly gone: boolean;
}

/** A signal that exists once someone has asked for it. */
export class Leaving {
  #controller: AbortController | undefined;
  #listener: (() => void) | undefined;
  gone = false;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.gone) this.#controller.abort(CLIENT_GONE);
    }
    return this.#controller.signal;
  }

  /** Cheaper than the signal. There is one listener. */
  onLeave(listener: () => void): void {
    this.#listener = listener;
  }

  leave(): void {
    this.gone = true;
    this.#listener?.();
    this.#controller?.abort(CLIENT_GONE);
  }
}

const CLIENT_GONE = new Error("the client is gone");

export class Http1Exchange implements HttpRequest, Reply {
  readonly peer: Peer;
  auditId: string | undefined = undefined;
  deadline: Deadline | undefined = undefined;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #wantsContinue: boolean;
  /** Where pieces went last. */
  #direct: Writable | undefined;
  readonly #leaving = new Leaving();

  /** `wantsContinue`: the client sends its body when it is told that someone wants it. */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    peer: Peer,
    done: () => void,
    wantsContinue: boolean,
  ) {
    this.peer = peer;
    this.#request = request;
    this.#response = response;
    this.#wantsContinue = wantsContinue && !hasAll(request);
    response.on("close", () => {
      done();
      this.deadline?.end();
      this.#leaving.leave();
    });
    response.on("error", ignore);
  }

  get method(): string {
    return this.#request.method ?? "GET";
  }
  get url(): string {
    return this.#request.url ?? "/";
  }
  get headers(): Readonly<Record<string, string | undefined>> {
    return this.#request.headers as Record<string, string | undefined>;
  }
  get rawHeaders(): readonly string[] {
    return this.#request.rawHeaders;
  }
  get signal(): AbortSignal {
    return this.#leaving.signal;
  }
  get gone(): boolean {
    return this.#leaving.gone;
  }
  get started(): boolean {
    return this.#response.headersSent;
  }
  get bodyStream(): NodeJS.ReadableStream {
    this.#continue();
    return this.#request;
  }

  onGone(listener: () => void): void {
    this.#leaving.onLeave(listener);
  }

  readBody(): Promise<Uint8Array | undefined> {
    this.#continue();
    return readAll(this.#request, Number(this.#request.headers["content-length"] ?? -1));
  }

  send(code: number, headers: OutgoingHeaders, body: Uint8Array): void {
    const all = headers as OutgoingHttpHeaders;
    const length = BODILESS.has(code) ? {} : { "content-length": body.length };
    // Whoever is still talking after the answer is not listened to.
    if (code === 504 && !hasAll(this.#request)) this.#response.shouldKeepAlive = false;
    this.#leaveOutTheUsual();
    if (code === 413) this.#response.statusMessage = "Request Entity Too Large"; // as it once was
    this.#response.writeHead(code, { ...all, ...length });
    this.#response.end(body); // Node leaves the body out where there is none
  }

  start(code: number, headers: OutgoingHeaders): void {
    this.#leaveOutTheUsual();
    this.#response.writeHead(code, headers as OutgoingHttpHeaders);
    this.#response.flushHeaders();
    if (!("content-length" in headers)) this.#endWithClient();
  }

  write(bytes: Uint8Array): boolean {
    return this.#response.write(bytes);
  }

  /**
   * Past the response, which would take a chunk in three parts and copy them together for each
   * client; but only to a client that takes chunks and has had the answers to all it asked before.
   */
  writePiece({ bytes, chunk }: PieceBytes): boolean {
    const { socket, chunkedEncoding } = this.#response;
    if (socket === null || !chunkedEncoding) return this.#response.write(bytes);
    this.#direct = socket;
    socket.write(chunk);
    return !socket.writableNeedDrain || socket.writableLength < UNSENT_BYTES_MAX;
  }

  drained(): Promise<void> {
    return drainOf(this.#direct ?? this.#response, this.signal);
  }

  end(): void {
    this.#response.end();
  }

  destroy(): void {
    this.#request.socket.destroy();
  }

  #continue(): void {
    if (this.#wantsContinue) this.#response.writeContinue();
    this.#wantsContinue = false;
  }

  /** That a connection of HTTP/1.1 is kept goes without saying. */
  #leaveOutTheUsual(): void {
    const { httpVersionMinor, socket } = this.#request;
    // Who says no more will be left with the answer, which Node forgets without the header.
    if (httpVersionMinor > 0 && this.#response.shouldKeepAlive && !socket.readableEnded) {
      this.#response.removeHeader("connection");
    }
  }

  /** Who says no more gets the rest of an answer, but does not wait for one without end. */
  #endWithClient(): void {
    const { socket } = this.#request;
    const end = (): void => void socket.destroy();
    if (socket.readableEnded) end();
    socket.once("end", end);
    this.#response.once("close", () => socket.off("end", end));
  }
}

export class Http2Exchange implements HttpRequest, Reply {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly rawHeaders: readonly string[];
  readonly peer: Peer;
  auditId: string | undefined = undefined;
  deadline: Deadline | undefined = undefined;
  readonly #stream: ServerHttp2Stream;
  readonly #leaving = new Leaving();

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
    peer: Peer,
    done: () => void,
  ) {
    this.#stream = stream;
    this.headers = headers as Record<string, string | undefined>;
    this.rawHeaders = rawHeaders;
    this.peer = peer;
    stream.on("close", () => {
      done();
      this.deadline?.end();
      this.#leaving.leave();
    });
    stream.on("error", ignore);
  }

  get method(): string {
    return this.headers[":method"] ?? "GET";
  }
  get url(): string {
    return this.headers[":path"] ?? "/";
  }
  get signal(): AbortSignal {
    return this.#leaving.signal;
  }
  get gone(): boolean {
    return this.#leaving.gone;
  }
  get started(): boolean {
    return this.#stream.headersSent;
  }
  get bodyStream(): NodeJS.ReadableStream {
    return this.#stream;
  }

  onGone(listener: () => void): void {
    this.#leaving.onLeave(listener);
  }

  readBody(): Promise<Uint8Array | undefined> {
    return readAll(this.#stream, Number(this.headers["content-length"] ?? -1));
  }

  send(code: number, headers: OutgoingHeaders, body: Uint8Array): void {
    const empty = body.length === 0 || this.method === "HEAD";
    const length = BODILESS.has(code) ? {} : { "content-length": String(body.length) };
    if (this.#respond(code, { ...headers, ...length }, empty) && !empty) this.#stream.end(body);
  }

  start(code: number, headers: OutgoingHeaders): void {
    this.#respond(code, headers, false);
  }

  write(bytes: Uint8Array): boolean {
    return !this.#stream.destroyed && this.#stream.write(bytes);
  }

  writePiece({ bytes }: PieceBytes): boolean {
    return this.write(bytes);
  }

  drained(): Promise<void> {
    return drainOf(this.#stream, this.signal);
  }

  end(): void {
    this.#stream.end();
  }

  destroy(): void {
    this.#stream.close(INTERNAL_ERROR);
  }

  #respond(code: number, headers: OutgoingHeaders, endStream: boolean): boolean {
    if (this.#stream.destroyed || this.#stream.headersSent) return false;
    const all = { ...headers, ":status": code } as OutgoingHttpHeaders;
    this.#stream.respond(all, { endStream });
    return true;
  }
}

/** Of the codes with which a stream of HTTP/2 ends (RFC 9113, section 7). */
const INTERNAL_ERROR = 2;
/** Answers that have no body, nor the length of one. */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);
const NO_BYTES = new Uint8Array(0);

function ignore(): void {}

function hasAll({ complete, headers }: IncomingMessage): boolean {
  const length = headers["content-length"] ?? "0";
  return complete || (length === "0" && headers["transfer-encoding"] === undefined);
}

/**
 * A body that is too long is read to its end, so that the client gets to hear of it, but not kept;
 * one that goes on and on is not waited for.
 */
function readAll(source: Readable, announced: number): Promise<Uint8Array | undefined> {
  if (announced === 0) return Promise.resolve(NO_BYTES);
  let chunks: Buffer[] = [];
  let length = 0;
  return new Promise((resolve, reject) => {
    source.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length <= BODY_BYTES_MAX) chunks.push(chunk);
      else chunks = [];
      if (length > BODY_BYTES_MAX * 2) resolve(undefined);
    });
    source.on("end", () => {
      if (length > BODY_BYTES_MAX) resolve(undefined);
      else resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, length));
    });
    source.on("error", reject);
    source.on("close", () => reject(CLIENT_GONE)); // says nothing new after the end
  });
}

/** Resolves at the next drain, or when the client is gone. */
function drainOf(writable: NodeJS.EventEmitter, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      writable.off("drain", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    if (signal.aborted) {
      resolve();
      return;
    }
    writable.on("drain", done);
    signal.addEventListener("abort", done, { once: true });
  });
}
