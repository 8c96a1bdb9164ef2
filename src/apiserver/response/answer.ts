/**
 * The response to a request before it is encoded. In-process callers take the objects as they are; the
 * HTTP side encodes them in the negotiated media type.
 */

import type { Status } from "#api/generated/meta.v1.ts";
import type { Kind } from "#api/kind.ts";
import type { Histogram } from "#lib/metrics.ts";
import type { Tunnel } from "../proxy/tunnel.ts";
import type { Revision } from "../storage/revision.ts";
import type { EventFeed } from "../watch/watch-feed.ts";
import { JSON_MEDIA, type Media } from "./negotiate.ts";

export interface Answer {
  readonly code: number;
  readonly body: AnswerBody;
  readonly media: Media;
  readonly headers: OutgoingHeaders;
  /** Texts for Warning headers. */
  readonly warnings: readonly string[];
  /** Observes the execution time. */
  readonly executed?: Histogram;
  /** Observes the bytes sent. */
  readonly sizes?: Histogram;
  /** Called once when the client has all of it, or is gone. */
  readonly sent?: () => void;
}

export type OutgoingHeaders = Readonly<Record<string, string | readonly string[]>>;

export type AnswerBody =
  | { readonly form: "object"; readonly object: Revision }
  | { readonly form: "list"; readonly list: ObjectList }
  | { readonly form: "watch"; readonly feed: EventFeed }
  /** Something that is not stored: Status, Scale, reviews, discovery. */
  | { readonly form: "value"; readonly value: ApiValue; readonly columns?: Kind["columns"] }
  | { readonly form: "bytes"; readonly contentType: string; readonly bytes: Uint8Array }
  /** A stream of bytes: logs and responses of proxied servers. */
  | { readonly form: "stream"; readonly stream: AnswerStream }
  /** The connection changes its protocol and is handed over: exec, attach, port-forward. */
  | { readonly form: "tunnel"; readonly tunnel: Tunnel };

export interface ApiValue {
  readonly kind?: string;
  readonly apiVersion?: string;
}

export interface ObjectList {
  /** The version that the items are served in. */
  readonly kind: Kind;
  readonly items: readonly Revision[];
  readonly resourceVersion: string;
  readonly continueToken?: string | undefined;
  readonly remaining?: number | undefined;
  /** Which collection it is of: the prefix of its keys. */
  readonly place: string;
  /** Names what is in it, if it is a whole collection as the cache has it: the same text, the same items. */
  readonly state?: string | undefined;
  /** Holds the options of a Table. */
  readonly query: URLSearchParams;
}

export interface AnswerStream {
  /** "" if the headers say it. */
  readonly contentType: string;
  readonly headers: OutgoingHeaders;
  readonly chunks: AsyncIterable<Uint8Array>;
}

export interface AnswerExtras {
  readonly media?: Media;
  readonly headers?: OutgoingHeaders;
  readonly warnings?: readonly string[];
}

export function answer(code: number, body: AnswerBody, extras: AnswerExtras = {}): Answer {
  return { code, body, media: JSON_MEDIA, headers: {}, warnings: [], ...extras };
}

/** A failure in the encoding that the client asked for, but never transformed. */
export function statusAnswer(status: Status, extras: AnswerExtras = {}): Answer {
  const seconds = status.details?.retryAfterSeconds ?? 0;
  const media = extras.media ?? JSON_MEDIA;
  return answer(
    status.code ?? 500,
    { form: "value", value: status },
    {
      ...extras,
      media: { ...media, as: undefined },
      headers: { ...extras.headers, ...(seconds > 0 ? { "retry-after": String(seconds) } : {}) },
    },
  );
}

export function textAnswer(code: number, text: string, contentType = TEXT): Answer {
  const headers = code >= 400 ? NO_SNIFFING : {};
  return answer(code, { form: "bytes", contentType, bytes: Buffer.from(text) }, { headers });
}

/** Texts that repeat what a client sent must not be taken for pages. */
export const NO_SNIFFING: OutgoingHeaders = { "x-content-type-options": "nosniff" };

const TEXT = "text/plain; charset=utf-8";
