/** Requests of the HTTP server through the handler, and answers back as bytes. */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { badRequestStatus, timeoutStatus } from "#api/meta/status.ts";
import type { MaybePromise } from "#lib/async/maybe-promise.ts";
import { nextTurn } from "#lib/async/next-turn.ts";
import { CLIENT_GONE } from "#lib/http/client-disconnect.ts";
import { isLongRunning } from "../flow/concurrency-limiter.ts";
import type { ApiRequest, Peer, RequestBody } from "../request/request.ts";
import { requestInfoOf } from "../request/request-info.ts";
import { LARGE_YAML_BYTES, type YamlThread } from "../request/yaml-thread.ts";
import {
  type Answer,
  type AnswerStream,
  type OutgoingHeaders,
  statusAnswer,
} from "../response/answer.ts";
import { encodeAnswer, warningHeaders } from "../response/encode-answer.ts";
import { MEDIA_TYPES } from "../response/negotiate.ts";
import { isPlainList, sendList } from "../response/send-list.ts";
import type { ApiServer } from "../server.ts";
import { streamWatch } from "../watch/stream-watch.ts";
import type { EventFeed } from "../watch/watch-feed.ts";
import { createFrameEncoder } from "../watch/watch-frames.ts";
import type { HttpRequest, Reply } from "./exchange.ts";
import { parseQuery } from "./parse-query.ts";
import { hasSmallBody } from "./read-body.ts";
import { type SplitUrl, splitUrl } from "./split-url.ts";
import { streamsRequestBody } from "./streams-request-body.ts";

const GZIP_BYTES_MIN = 128 * 1024;
const compress = promisify(gzip);

export type Serving = Pick<
  ApiServer,
  | "handle"
  | "tables"
  | "closing"
  | "lists"
  | "newAuditId"
  | "watches"
  | "countTimeout"
  | "turn"
  | "fanOuts"
  | "yaml"
>;

export async function serve(api: Serving, request: HttpRequest, reply: Reply): Promise<void> {
  if (request.url === "*" && request.method === "OPTIONS") {
    reply.send(200, {}, new Uint8Array(0)); // about the server as a whole there is nothing to say
    return;
  }
  const split = splitUrl(request.url);
  if (split === undefined) {
    reply.send(
      400,
      { "content-type": "text/plain; charset=utf-8" },
      Buffer.from("400 Bad Request"),
    );
    return;
  }
  const body = beginBody(request);
  const turn = api.turn.wait();
  if (turn !== undefined) await turn; // with all the others that have just come
  if (request.gone) return;
  const apiRequest = new ServedRequest(request, split, body, auditIdOf(api, request), api.yaml);
  const answer = await api.handle(apiRequest);
  try {
    if (reply.started || request.gone) return; // it was too late
    await send(answer, apiRequest, api, reply);
  } finally {
    answer.sent?.();
  }
}

/**
 * A class for the sake of its getter. In a plain object each one would be a function of its own, and so
 * a shape of its own, which V8 keeps, with the request that it refers to, until it collects the whole
 * heap: all requests would grow old.
 */
class ServedRequest implements ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly rawUrl: string;
  readonly query: URLSearchParams;
  readonly headers: ApiRequest["headers"];
  readonly rawHeaders: readonly string[];
  readonly auditId: string;
  readonly peer: Peer;
  body: RequestBody;
  #pending: PendingBody | undefined;
  readonly #request: HttpRequest;
  readonly #yaml: YamlThread;

  constructor(
    request: HttpRequest,
    { path, query }: SplitUrl,
    body: Body,
    auditId: string,
    yaml: YamlThread,
  ) {
    this.method = request.method;
    this.path = path;
    this.rawUrl = request.url;
    this.query = parseQuery(query);
    this.headers = request.headers;
    this.rawHeaders = request.rawHeaders;
    this.auditId = auditId;
    this.body = body.form === "pending" ? NO_BODY : body;
    this.#pending = body.form === "pending" ? body : undefined;
    this.peer = request.peer;
    this.#request = request;
    this.#yaml = yaml;
  }

  authenticated(): void {
    this.#request.authenticated();
  }

  async receiveBody(): Promise<boolean> {
    const pending = this.#pending;
    if (pending === undefined) return true;
    this.#pending = undefined;
    try {
      const bytes = await (pending.reading ?? this.#request.readBody());
      this.body = bytes === undefined ? TOO_LONG : await this.#readable(bytes);
      return true;
    } catch (error) {
      if (error === CLIENT_GONE || this.#request.gone) return false;
      throw error;
    }
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  /** Parsing large YAML would keep all others waiting. */
  async #readable(bytes: Uint8Array): Promise<RequestBody> {
    const isYaml = (this.headers["content-type"] ?? "").includes("yaml");
    if (!isYaml || bytes.length < LARGE_YAML_BYTES) return { form: "bytes", bytes };
    const converted = await this.#yaml.convert(bytes);
    if ("excess" in converted) return { form: "too-long", limit: converted.excess };
    return { form: "bytes", bytes, yaml: converted.yaml };
  }
}

/** The deadline has passed: responds 504, or aborts a started response. Long-running requests have no deadline. */
export function expire(
  api: Pick<Serving, "newAuditId" | "countTimeout">,
  request: HttpRequest,
  reply: Reply,
): void {
  const split = splitUrl(request.url);
  if (split === undefined) return;
  const info = requestInfoOf(request.method, split.path, parseQuery(split.query));
  if (isLongRunning(info)) return;
  api.countTimeout(info, reply.started);
  if (reply.started) {
    reply.destroy();
    return;
  }
  const headers = {
    "audit-id": auditIdOf(api, request),
    "cache-control": "no-cache, private",
    "content-type": "text/plain; charset=utf-8",
  };
  reply.send(504, headers, TOO_LATE);
}

/** Bare, as upstream writes it where nothing is negotiated any more. */
const {
  kind: _kind,
  apiVersion: _version,
  ...LATE_STATUS
} = timeoutStatus("request did not complete within the allotted timeout");
const TOO_LATE = Buffer.from(`${JSON.stringify(LATE_STATUS)}\n`);

function auditIdOf(api: Pick<Serving, "newAuditId">, request: HttpRequest): string {
  request.auditId ??= request.headers["audit-id"] || api.newAuditId();
  return request.auditId;
}

function send(answer: Answer, request: ApiRequest, api: Serving, reply: Reply): MaybePromise<void> {
  const headers = headersOf(answer, request);
  const { code, body, media } = answer;
  const gzips = acceptsGzip(request.headers["accept-encoding"]);
  if (body.form === "list" && request.method === "GET" && isPlainList(media)) {
    return sendList(api.lists, body.list, media, code, headers, gzips, reply, answer.sizes);
  }
  if (body.form === "watch") return sendWatch(body.feed, answer, headers, request, api, reply);
  if (body.form === "stream") return sendStream(body.stream, code, headers, request, reply);
  if (body.form === "tunnel") {
    const refusal = statusAnswer(badRequestStatus("Upgrade request required"));
    return send(refusal, request, api, reply);
  }
  const { contentType, bytes } = encodeAnswer(body, media, request.query, api.tables);
  if (contentType !== "") headers["content-type"] = contentType;
  if (bytes.length > GZIP_BYTES_MIN && !("content-encoding" in headers) && gzips) {
    const zipped = { ...headers, "content-encoding": "gzip", vary: "Accept-Encoding" };
    return compress(bytes, { level: 1 }).then((packed) => {
      answer.sizes?.observe(packed.length);
      reply.send(code, zipped, packed);
    });
  }
  answer.sizes?.observe(bytes.length);
  if (bytes.length > PIECE_BYTES && request.method !== "HEAD") {
    return sendPieces(bytes, code, headers, reply);
  }
  reply.send(code, headers, bytes);
}

/** TLS encrypts at once what is written at once: a turn of the event loop writes one piece of a large body. */
async function sendPieces(
  bytes: Uint8Array,
  code: number,
  headers: OutgoingHeaders,
  reply: Reply,
): Promise<void> {
  reply.start(code, { ...headers, "content-length": String(bytes.length) });
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    if (reply.gone) return;
    if (!reply.write(bytes.subarray(at, at + PIECE_BYTES))) await reply.drained();
    await nextTurn();
  }
  reply.end();
}

/** Encrypted in about a millisecond. */
const PIECE_BYTES = 1 << 20;

function sendWatch(
  feed: EventFeed,
  { code, media }: Answer,
  headers: OutgoingHeaders,
  { query, signal }: ApiRequest,
  { tables, watches, fanOuts, closing }: Serving,
  reply: Reply,
): Promise<void> {
  const stream = media.encoding === "json" ? "" : ";stream=watch";
  reply.start(code, { ...headers, "content-type": `${MEDIA_TYPES[media.encoding]}${stream}` });
  const encode = createFrameEncoder(feed.kind, media, query, tables);
  const count = watches.of(feed.kind);
  const fanOut = fanOuts.of(feed.kind);
  return streamWatch(feed, { encode, count, fanOut, reply, signal, closing });
}

async function sendStream(
  { contentType, headers: own, chunks }: AnswerStream,
  code: number,
  headers: OutgoingHeaders,
  { signal }: ApiRequest,
  reply: Reply,
): Promise<void> {
  const typed = contentType === "" ? {} : { "content-type": contentType };
  reply.start(code, { ...headers, ...own, ...typed });
  for await (const chunk of chunks) {
    if (signal.aborted) return;
    if (!reply.write(chunk)) await reply.drained();
  }
  reply.end();
}

/** They belong to the caller. */
export function headersOf({ headers, warnings }: Answer, { auditId }: ApiRequest): HeaderDraft {
  const usual = { "cache-control": "no-cache, private", ...headers };
  const all: HeaderDraft = auditId === undefined ? usual : { "audit-id": auditId, ...usual };
  if (warnings.length > 0) all.warning = warningHeaders(new Set(warnings));
  return all;
}

type HeaderDraft = Record<string, string | readonly string[]>;

const NO_BODY: RequestBody = { form: "none" };
const TOO_LONG: RequestBody = { form: "too-long" };

/** Of a request that came over HTTP, not read yet; `reading` if it has begun. */
interface PendingBody {
  readonly form: "pending";
  readonly reading: Promise<Uint8Array | undefined> | undefined;
}

type Body = RequestBody | PendingBody;

/**
 * A body is read when it is known that the client may ask what it asks. A small one is read at once:
 * the stream would hold as much anyway, and it is there when the handler wants it.
 */
function beginBody(request: HttpRequest): Body {
  if (streamsRequestBody(request)) return { form: "stream", stream: request.bodyStream };
  if (request.method === "GET" || request.method === "HEAD") return NO_BODY;
  const reading = hasSmallBody(request) ? request.readBody() : undefined;
  reading?.catch(() => undefined); // the reader of the body gets the error
  return { form: "pending", reading };
}

function acceptsGzip(accepted: string | undefined): boolean {
  return accepted?.split(",").some((coding) => coding.trim() === "gzip") ?? false;
}
