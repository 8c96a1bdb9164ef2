/**
 * One request and its response, with the same interface for HTTP/1.1 and HTTP/2.
 *
 * Promises:
 * 1. A request body is read up to BODY_BYTES_MAX; a longer one is not kept.
 * 2. `write` returns false when the client does not keep up; `drained` resolves when it does again.
 *    So nothing has to be buffered for a client that stopped reading.
 * 3. A request's signal aborts as soon as the client is gone. It is created on first use.
 */

import type { Peer } from "../request/request.ts";
import type { OutgoingHeaders } from "../response/answer.ts";
import type { ChunkBytes } from "../response/byte-chunk.ts";
import type { Deadline } from "./deadlines.ts";

export const BODY_BYTES_MAX = 3 * 1024 * 1024;
/** Bytes that may be in flight before `write` returns false. */
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
  /** Names the request in its answer and in the audit log; set on first use. */
  auditId: string | undefined;
  /** The client was authenticated: its connection no longer counts against the limit for unauthenticated ones. */
  authenticated(): void;
  /** Calls back when the client disconnects, or has its whole response. One listener only. */
  onGone(listener: () => void): void;
  /** Undefined when it is longer than BODY_BYTES_MAX. */
  readBody(): Promise<Uint8Array | undefined>;
  /** The body as it comes, for proxies. */
  readonly bodyStream: NodeJS.ReadableStream;
}

export interface Reply {
  /** A whole answer. To HEAD the body is announced, not sent. */
  send(code: number, headers: OutgoingHeaders, body: Uint8Array): void;
  /** Starts a response that `write` and `end` continue. */
  start(code: number, headers: OutgoingHeaders): void;
  /** False when the client does not keep up: write no more before `drained`. */
  write(bytes: Uint8Array): boolean;
  /** The same for a chunk that is sent to many clients. */
  writeChunk(bytes: ChunkBytes): boolean;
  drained(): Promise<void>;
  end(): void;
  /** Ends the connection in the middle of the response. */
  destroy(): void;
  /** The response was started. */
  readonly started: boolean;
  /** The client has left. */
  readonly gone: boolean;
}

/** A request, its response, and their deadline, which the exchange cancels when it is over. */
export interface Exchange extends HttpRequest, Reply {
  deadline: Deadline | undefined;
}

/** Status codes without a body and without Content-Length. */
export const BODILESS: ReadonlySet<number> = new Set([204, 304]);
