/** One request of a client and its response, whichever version of HTTP it speaks. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { TLSSocket } from "node:tls";
import type { PathMatch } from "../routes/path-rules.ts";
import { hostOf, type Route } from "../routes/routing-table.ts";
import { http2Headers } from "./headers.ts";

export type ClientRequest = IncomingMessage | Http2ServerRequest;
export type ClientResponse = ServerResponse | Http2ServerResponse;

/** Where a request wants to go. */
export interface Target {
  readonly client: string;
  readonly isTls: boolean;
  /** As the client wrote it, port included. */
  readonly authority: string;
  readonly host: string;
  readonly path: string;
  /** With the question mark; empty without one. */
  readonly query: string;
}

export interface Exchange {
  readonly request: ClientRequest;
  readonly response: ClientResponse;
  readonly target: Target;
  readonly match: PathMatch<Route> | undefined;
  readonly startedMs: number;
  upstream: string;
  bytes: number;
}

const AUTHORITY = /^[\w.~:[\]-]{1,300}$/;

/**
 * Undefined: the request cannot be routed and gets 400. `isFronted`: it comes from nginx in front of this data
 * plane, which names the client in X-Real-IP.
 */
export function targetOf(request: ClientRequest, isFronted = false): Target | undefined {
  const { socket } = request;
  let url = request.url ?? "/";
  let authority = request.headers[":authority"] ?? request.headers.host ?? "";
  const absolute = /^https?:\/\/([^/?#]*)/i.exec(url);
  if (absolute !== null) {
    authority = absolute[1]!;
    url = url.slice(absolute[0].length);
    if (!url.startsWith("/")) url = `/${url}`;
  }
  if (typeof authority !== "string" || (authority !== "" && !AUTHORITY.test(authority))) return;
  const mark = url.indexOf("?");
  const path = mark === -1 ? url : url.slice(0, mark);
  if (!path.startsWith("/") || hasDotSegment(path)) return undefined;
  const query = mark === -1 ? "" : url.slice(mark);
  const named = isFronted ? request.headers["x-real-ip"] : undefined;
  const peer = typeof named === "string" ? named : (socket.remoteAddress ?? "");
  const client = peer.replace(/^::ffff:/, "");
  const isTls = socket instanceof TLSSocket;
  return { client, isTls, authority, host: hostOf(authority), path, query };
}

/** `/a/../b` would be matched as one path and served as another. */
function hasDotSegment(path: string): boolean {
  if (!path.includes(".") && !path.includes("%")) return false;
  return /(^|\/)(\.|%2e){1,2}(\/|$)/i.test(path);
}

/**
 * Begins the response. `headers` are names and values in turn. Without a length it may be a stream of
 * events: then the client must not wait for the first chunk of the body.
 */
export function beginResponse(
  { response }: Exchange,
  status: number,
  headers: string[],
  isStream = false,
): void {
  if ("stream" in response) {
    // HTTP/2 sends them at once.
    response.writeHead(status, http2Headers(headers));
  } else {
    response.writeHead(status, headers);
    if (isStream) response.flushHeaders();
  }
}

/** Answers whether more may be written at once. The two types of responses overload `write` differently. */
export function writeBody(exchange: Exchange, chunk: Buffer): boolean {
  const { response } = exchange;
  exchange.bytes += chunk.length;
  return "stream" in response ? response.write(chunk) : response.write(chunk);
}

/** A whole response of the proxy itself. */
export function answerWith(
  exchange: Exchange,
  status: number,
  text: string,
  headers: readonly string[] = [],
): void {
  const { request, response } = exchange;
  if (response.headersSent) {
    // Too late to say it: the client must see that the response is not whole.
    if ("stream" in response) response.stream.close(2);
    else response.destroy();
    return;
  }
  const body = `${text}\n`;
  const own = ["Content-Type", "text/plain; charset=utf-8", "Content-Length", String(body.length)];
  // What is left of the body is not read, so the connection cannot be used again.
  const isHttp1 = !("stream" in response);
  const close = isHttp1 && !request.complete ? ["Connection", "close"] : [];
  beginResponse(exchange, status, [...own, ...close, ...headers]);
  exchange.bytes = body.length;
  response.end(body);
}
