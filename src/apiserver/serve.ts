/** Requests of the HTTP server through the handler, and answers back as bytes. */

import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { badRequestStatus, requestTooLargeStatus, timeoutStatus } from "#api/meta/status.ts";
import { type Answer, type OutgoingHeaders, statusAnswer } from "./answer.ts";
import { encodeAnswer, isWhole, warningHeaders } from "./encode-answer.ts";
import { isLongRunning } from "./flow/flow-control.ts";
import { BODY_BYTES_MAX, type HttpRequest, type Reply } from "./http-exchange.ts";
import { MEDIA_TYPES } from "./negotiate.ts";
import { parseQuery } from "./parse-query.ts";
import { isPassedOn } from "./passed-on.ts";
import type { ApiRequest, RequestBody } from "./request.ts";
import { requestInfoOf } from "./request-info.ts";
import { isPlainList, sendList } from "./send-list.ts";
import type { ApiServer } from "./server.ts";
import { streamWatch } from "./stream-watch.ts";
import { createFrameEncoder } from "./watch-frames.ts";

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
  | "fanOut"
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
  const body = await bodyOf(request, api);
  if (request.gone) return;
  const query = parseQuery(split.query);
  const apiRequest: ApiRequest = {
    method: request.method,
    path: split.path,
    rawUrl: request.url,
    query,
    headers: request.headers,
    rawHeaders: request.rawHeaders,
    auditId: auditIdOf(api, request),
    body: body ?? { form: "none" },
    peer: request.peer,
    get signal() {
      return request.signal;
    },
  };
  const answer =
    body === undefined
      ? statusAnswer(requestTooLargeStatus(`limit is ${BODY_BYTES_MAX}`))
      : await api.handle(apiRequest);
  try {
    if (reply.started) return; // it was too late
    await send(answer, apiRequest, api, reply);
  } finally {
    answer.sent?.();
  }
}

/** Its time is over: the client hears so, or that the answer breaks off. What lives long has no end. */
export function expire(
  api: Pick<Serving, "newAuditId" | "countTimeout">,
  request: HttpRequest,
  reply: Reply,
): void {
  const split = splitUrl(request.url);
  if (split === undefined) return;
  const info = requestInfoOf(request.method, split.path, parseQuery(split.query));
  if (isLongRunning(info)) return;
  api.countTimeout(info);
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

async function send(
  answer: Answer,
  request: ApiRequest,
  api: Serving,
  reply: Reply,
): Promise<void> {
  const headers = headersOf(answer, request);
  const { body } = answer;
  const gzips = acceptsGzip(request.headers["accept-encoding"]);
  if (body.form === "list" && request.method === "GET" && isPlainList(answer.media)) {
    await sendList(api.lists, body.list, answer.media, answer.code, headers, gzips, reply);
    return;
  }
  if (isWhole(body)) {
    const encoded = encodeAnswer(body, answer.media, request.query, api.tables);
    const { contentType } = encoded;
    const typed = contentType === "" ? headers : { ...headers, "content-type": contentType };
    if (encoded.bytes.length > GZIP_BYTES_MIN && !("content-encoding" in headers) && gzips) {
      const zipped = { ...typed, "content-encoding": "gzip", vary: "Accept-Encoding" };
      reply.send(answer.code, zipped, await compress(encoded.bytes, { level: 1 }));
      return;
    }
    reply.send(answer.code, typed, encoded.bytes);
    return;
  }
  if (body.form === "watch") {
    const stream = answer.media.encoding === "json" ? "" : ";stream=watch";
    const type = `${MEDIA_TYPES[answer.media.encoding]}${stream}`;
    reply.start(answer.code, { ...headers, "content-type": type });
    const { kind } = body.feed;
    const encode = createFrameEncoder(kind, answer.media, request.query, api.tables);
    const count = api.watches.of(kind);
    const { signal } = request;
    const { fanOut, closing } = api;
    await streamWatch(body.feed, { encode, count, fanOut, reply, signal, closing });
    return;
  }
  if (body.form === "tunnel") {
    const refusal = statusAnswer(badRequestStatus("Upgrade request required"));
    await send(refusal, request, api, reply);
    return;
  }
  const { contentType, chunks } = body.stream;
  const typed = contentType === "" ? {} : { "content-type": contentType };
  reply.start(answer.code, { ...headers, ...body.stream.headers, ...typed });
  for await (const chunk of chunks) {
    if (request.signal.aborted) return;
    if (!reply.write(chunk)) await reply.drained();
  }
  reply.end();
}

export function headersOf({ headers, warnings }: Answer, { auditId }: ApiRequest): OutgoingHeaders {
  const all: Record<string, string | readonly string[]> = {
    ...(auditId === undefined ? {} : { "audit-id": auditId }),
    "cache-control": "no-cache, private",
    ...headers,
  };
  if (warnings.length > 0) all.warning = warningHeaders(new Set(warnings));
  return all;
}

const NO_BODY: RequestBody = { form: "none" };

/** Undefined when it is too long. */
async function bodyOf(
  request: HttpRequest,
  { turn }: Pick<Serving, "turn">,
): Promise<RequestBody | undefined> {
  if (isPassedOn(request)) return { form: "stream", stream: request.bodyStream };
  if (request.method === "GET" || request.method === "HEAD") return NO_BODY;
  const bytes = await request.readBody();
  await turn.wait(); // with all the others that have just come
  return bytes === undefined ? undefined : { form: "bytes", bytes };
}

function acceptsGzip(accepted: string | undefined): boolean {
  return accepted?.split(",").some((coding) => coding.trim() === "gzip") ?? false;
}

const ABSOLUTE = /^https?:\/\/[^/?]*/i;

/** Undefined for a path that is no proper text. Whole addresses are taken for their path. */
export function splitUrl(target: string): { path: string; query: string } | undefined {
  const url = target.startsWith("/") ? target : target.replace(ABSOLUTE, "") || "/";
  const mark = url.indexOf("?");
  const raw = mark < 0 ? url : url.slice(0, mark);
  const query = mark < 0 ? "" : url.slice(mark + 1);
  if (!raw.includes("%")) return { path: raw, query };
  try {
    return { path: decodeURIComponent(raw), query };
  } catch {
    return undefined;
  }
}
