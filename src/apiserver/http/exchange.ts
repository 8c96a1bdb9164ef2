/**
 * One request and its answer, over HTTP/1.1 or HTTP/2. Both protocols look the same from above.
 *
 * Promises:
 * 1. A request body is read up to BODY_BYTES_MAX; a longer one is not kept.
 * 2. `write` says whether the client keeps up; `drained` tells when it does again. Nobody has to
 *    buffer for a client that stopped reading.
 * 3. A request's signal aborts as soon as the client is gone. It is made only if it is asked for.
 */

import type { Peer } from "../request/request.ts";
import type { OutgoingHeaders } from "../response/answer.ts";
import type { PieceBytes } from "../response/byte-chunk.ts";
import type { Deadline } from "./deadlines.ts";

export const BODY_BYTES_MAX = 3 * 1024 * 1024;
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
  /** The client has shown who it is: its connection is no longer one that anybody can open. */
  authenticated(): void;
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

/** A request and its answer, with the time they have. It ends the deadline when it is over. */
export interface Exchange extends HttpRequest, Reply {
  deadline: Deadline | undefined;
}

/** Answers that have no body, nor the length of one. */
export const BODILESS: ReadonlySet<number> = new Set([204, 304]);
