/**
 * The messages between the HTTP thread, which owns the connections, and the main thread.
 *
 * Messages are sent in batches, all bytes of a batch in one buffer: a message is cheap, and bytes for
 * many clients are sent once. Requests, streaming responses and upgraded connections have ids that
 * the HTTP thread assigns.
 */

import type { TlsOptions } from "../http/http-server.ts";
import type { Peer } from "../request/request.ts";
import type { OutgoingHeaders } from "../response/answer.ts";

/** A range of the bytes of the batch; bytes in shared memory are not copied. */
export type Slice = { readonly from: number; readonly to: number } | Uint8Array<SharedArrayBuffer>;

export interface Batch<Message> {
  readonly messages: readonly Message[];
  readonly bytes: Uint8Array;
}

/** Written bytes are reported when there are so many, or when the sender may be waiting. */
export const REPORT_BYTES_MIN = 64 * 1024;

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

export type FromHttpThread =
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
       * "follows": streamed as `data`, for proxies; "late": the client did not send it in time;
       * "unread": the main thread requests it with "read body".
       */
      readonly body: Slice | "too long" | "late" | "follows" | "unread";
    }
  /** The body that the main thread has requested. */
  | { readonly form: "body"; readonly id: number; readonly bytes: Slice | "too long" }
  /** A connection upgrade, with the bytes that followed the request head. */
  | { readonly form: "upgrade"; readonly head: RequestHead; readonly sent: Slice }
  /** More bytes from the client; null is the end. */
  | { readonly form: "data"; readonly id: number; readonly bytes: Slice | null }
  /** So many bytes that the main thread wrote were handed to the connection. */
  | { readonly form: "taken"; readonly id: number; readonly count: number }
  /** All bytes written to an upgraded connection, and the end of the stream, were flushed. */
  | { readonly form: "ended"; readonly id: number }
  /** The client disconnected before its response was complete. */
  | { readonly form: "gone"; readonly id: number }
  | {
      readonly form: "log";
      readonly level: "debug" | "error";
      readonly message: string;
      readonly error: string;
    };

export type FromMainThread =
  | { readonly form: "listen"; readonly options: ListenOptions }
  | { readonly form: "renew"; readonly tls: TlsOptions }
  | { readonly form: "drain" }
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
  /** The client of this request was authenticated. */
  | { readonly form: "authenticated"; readonly id: number }
  /** The request was authorized: its body is wanted. */
  | { readonly form: "read body"; readonly id: number }
  | { readonly form: "chunk"; readonly id: number; readonly bytes: Slice }
  /** An HTTP/1.1 chunk for many responses. */
  | { readonly form: "shared chunk"; readonly ids: readonly number[]; readonly chunk: Slice }
  | { readonly form: "end"; readonly id: number }
  | { readonly form: "destroy"; readonly id: number }
  /** So many bytes from the client were consumed. */
  | { readonly form: "pulled"; readonly id: number; readonly count: number };
