/**
 * What the thread that speaks HTTP (the edge) and the thread that answers (the core) tell each other.
 *
 * Messages travel in batches, all bytes of a batch in one buffer: a message costs little then, and
 * bytes that go to many clients travel once. Requests, answers under way and joined connections are
 * told apart by the numbers that the edge gives them.
 */

import type { TlsOptions } from "../http/http-server.ts";
import type { Peer } from "../request/request.ts";
import type { OutgoingHeaders } from "../response/answer.ts";

/** Where bytes lie within those of the batch; bytes in shared memory stay where they are. */
export type Slice = { readonly from: number; readonly to: number } | Uint8Array<SharedArrayBuffer>;

export interface Batch<Message> {
  readonly messages: readonly Message[];
  readonly bytes: Uint8Array;
}

/** What was taken of the bytes under way is told when it is so much, or when the sender may be waiting. */
export const TOLD_BYTES_MIN = 64 * 1024;

export interface ListenOptions {
  readonly tls: TlsOptions;
  readonly host: string;
  readonly port: number;
  readonly idleMaxMs?: number;
  readonly timeoutMs?: number;
  readonly http2?: boolean;
  readonly streamsMax?: number;
  readonly goawayChance?: number;
}

export interface RequestHead {
  readonly id: number;
  readonly connection: number;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly rawHeaders: readonly string[];
}

export type FromEdge =
  | { readonly form: "listening"; readonly port: number }
  | { readonly form: "failed"; readonly message: string; readonly code: string | undefined }
  | { readonly form: "closed" }
  | { readonly form: "connected"; readonly connection: number; readonly peer: Peer }
  | { readonly form: "disconnected"; readonly connection: number }
  | { readonly form: "handshake failed" }
  | {
      readonly form: "request";
      readonly head: RequestHead;
      /**
       * "follows": as `data`, for proxies; "late": the client did not send it in time; "unread": the
       * core asks for it.
       */
      readonly body: Slice | "too long" | "late" | "follows" | "unread";
    }
  /** The body that the core has asked for. */
  | { readonly form: "body"; readonly id: number; readonly bytes: Slice | "too long" }
  /** A connection that wants to speak another protocol; with what it sent after its head. */
  | { readonly form: "upgrade"; readonly head: RequestHead; readonly sent: Slice }
  /** What the client sent on; null is the end. */
  | { readonly form: "data"; readonly id: number; readonly bytes: Slice | null }
  /** So many bytes of those that the core wrote are on their way to the client. */
  | { readonly form: "taken"; readonly id: number; readonly count: number }
  /** Everything up to the end that the core wrote has gone to a connection that changed its protocol. */
  | { readonly form: "ended"; readonly id: number }
  /** The client has left before its answer was whole. */
  | { readonly form: "gone"; readonly id: number }
  | {
      readonly form: "log";
      readonly level: "debug" | "error";
      readonly message: string;
      readonly error: string;
    };

export type FromCore =
  | { readonly form: "listen"; readonly options: ListenOptions }
  | { readonly form: "renew"; readonly tls: TlsOptions }
  | { readonly form: "close"; readonly graceMs: number }
  | {
      readonly form: "answer";
      readonly id: number;
      readonly code: number;
      readonly headers: OutgoingHeaders;
      readonly body: Slice;
    }
  | {
      readonly form: "start";
      readonly id: number;
      readonly code: number;
      readonly headers: OutgoingHeaders;
    }
  /** The client of this request has shown who it is. */
  | { readonly form: "authenticated"; readonly id: number }
  /** The client may do what it asks: its body is wanted. */
  | { readonly form: "read body"; readonly id: number }
  | { readonly form: "chunk"; readonly id: number; readonly bytes: Slice }
  /** A chunk of HTTP/1.1 for many. */
  | { readonly form: "piece"; readonly ids: readonly number[]; readonly chunk: Slice }
  | { readonly form: "end"; readonly id: number }
  | { readonly form: "destroy"; readonly id: number }
  /** So many bytes of those that the client sent are no longer waiting. */
  | { readonly form: "pulled"; readonly id: number; readonly count: number };
