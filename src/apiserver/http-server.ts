/**
 * HTTPS with HTTP/1.1 and HTTP/2 on one port. Sockets become requests here; everything above knows
 * neither protocol.
 *
 * Promises:
 * 1. A request body is read up to BODY_BYTES_MAX; a longer one is not kept.
 * 2. `Reply.write` says whether the client keeps up; `drained` tells when it does again. Nobody has to
 *    buffer for a client that stopped reading.
 * 3. A request's signal aborts as soon as the client is gone.
 * 4. Closing lets running requests finish for a while, then ends every connection, also those that
 *    never came to an agreement on TLS.
 *
 * TLS is terminated once, and each connection goes to the server of the protocol that was agreed on:
 * the stream interface of HTTP/2 costs a third less than the one that imitates HTTP/1.
 */
import { createServer as createHttp1, type IncomingMessage, type ServerResponse } from "node:http";
import {
  createServer as createHttp2,
  constants as h2,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { createServer as createTls, type SecureContextOptions, type TLSSocket } from "node:tls";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/logger.ts";
import type { OutgoingHeaders } from "./answer.ts";
import type { Peer } from "./request.ts";

export const BODY_BYTES_MAX = 3 * 1024 * 1024;
const HEADERS_BYTES_MAX = 1024 * 1024;
const STREAMS_PER_CONNECTION_MAX = 250;

export interface HttpRequest {
  readonly method: string;
  /** As sent, with the query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[];
  readonly peer: Peer;
  readonly signal: AbortSignal;
  readonly protocol: "http/1.1" | "h2";
  /** Undefined when it is longer than BODY_BYTES_MAX. */
  readBody(): Promise<Uint8Array | undefined>;
  /** The body as it comes, for proxies. */
  readonly bodyStream: AsyncIterable<Uint8Array>;
}

export interface Reply {
  /** A whole answer. */
  send(code: number, headers: OutgoingHeaders, body: Uint8Array): void;
  /** The beginning of an answer that `write` and `end` go on with. */
  start(code: number, headers: OutgoingHeaders): void;
  /** False when the client does not keep up: write no more before `drained`. */
  write(bytes: Uint8Array): boolean;
  drained(): Promise<void>;
  end(): void;
  /** Ends the connection without a proper end of the answer. */
  destroy(): void;
}

export interface HttpServerOptions {
  readonly tls: TlsOptions;
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  readonly logger: Logger;
  handle(request: HttpRequest, reply: Reply): Promise<void>;
  /** A connection that wants to speak another protocol. The handler owns the socket. */
  upgrade(request: HttpRequest, socket: Duplex, head: Buffer): Promise<void>;
}

export interface TlsOptions {
  readonly context: SecureContextOptions & { readonly ca?: string | string[] };
  /** What the connection proves about its client; asked once per connection. */
  identify(socket: TLSSocket): Peer;
}

export interface HttpServer {
  readonly port: number;
  /** Takes new certificates for new connections. */
  renew(context: SecureContextOptions): void;
  /** Stops accepting; resolves when all connections have ended, after `graceMs` at the latest. */
  close(graceMs: number): Promise<void>;
}

export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { tls, host, port, logger, clock } = options;
  const connections = new Set<Socket>(); // below TLS
  const sockets = new Set<TLSSocket>();
  const sessions = new Set<ServerHttp2Session>();
  let closing = false;
  const http1 = createHttp1({ maxHeaderSize: HEADERS_BYTES_MAX, requestTimeout: 0 });
  http1.keepAliveTimeout = 0;
  http1.on("request", (request, response) => {
    response.on("close", () => {
      if (closing) request.socket.destroySoon();
    });
    void handleHttp1(options, request, response);
  });
  http1.on(
    "upgrade",
    (request, socket, head) => void handleUpgrade(options, request, socket, head),
  );
  http1.on("clientError", (_, socket) => answerBadRequest(socket as Socket));
  http1.on("checkContinue", (request, response) => {
    response.writeContinue();
    http1.emit("request", request, response);
  });
  const http2 = createHttp2({
    settings: { maxConcurrentStreams: STREAMS_PER_CONNECTION_MAX, initialWindowSize: 1024 * 1024 },
    maxSessionMemory: 64,
  });
  http2.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("error", () => undefined);
  });
  // The types do not know the last argument; node does (https://nodejs.org/api/http2.html).
  const onStream = (
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    _flags: number,
    rawHeaders: readonly string[] = [],
  ): void => void handleHttp2(options, stream, headers, rawHeaders);
  http2.on("stream", onStream);

  const server = createTls(
    {
      ...tls.context,
      ALPNProtocols: ["h2", "http/1.1"],
      requestCert: true,
      rejectUnauthorized: false,
      minVersion: "TLSv1.2",
    },
    (socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
      socket.on("error", () => undefined); // whoever uses it hears of its end by "close"
      socket.setNoDelay(true);
      socket.setKeepAlive(true, 30_000);
      (socket.alpnProtocol === "h2" ? http2 : http1).emit("connection", socket);
    },
  );
  server.on("connection", (connection: Socket) => {
    connections.add(connection);
    connection.on("close", () => connections.delete(connection));
  });
  server.on("tlsClientError", (error) => logger.debug("TLS handshake failed", { error }));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, backlog: 1024 }, () => {
      server.off("error", reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    renew: (context) => server.setSecureContext(context),
    close: async (graceMs) => {
      closing = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const session of sessions) session.close(); // each ends after its last request
      for (const socket of sockets) {
        if (socket.alpnProtocol !== "h2" && !busy.has(socket)) socket.destroySoon();
      }
      const timer = clock.schedule(graceMs, () => {
        for (const socket of sockets) socket.destroy();
        for (const connection of connections) connection.destroy();
      });
      await closed;
      timer.cancel();
    },
  };
}

/** How many requests of an HTTP/1 connection are being answered; absent means none. */
const busy = new WeakMap<TLSSocket, number>();

function peerOf({ tls }: HttpServerOptions, socket: TLSSocket): Peer {
  const peer = peers.get(socket) ?? tls.identify(socket);
  peers.set(socket, peer);
  return peer;
}

const peers = new WeakMap<TLSSocket, Peer>();

async function handleHttp1(
  options: HttpServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const socket = request.socket as TLSSocket;
  busy.set(socket, (busy.get(socket) ?? 0) + 1);
  const controller = new AbortController();
  response.on("close", () => {
    const left = busy.get(socket)! - 1;
    if (left > 0) busy.set(socket, left);
    else busy.delete(socket);
    controller.abort(CLIENT_GONE);
  });
  response.on("error", () => undefined);
  const reply: Reply = {
    send: (code, headers, body) => {
      response.writeHead(code, {
        ...(headers as Record<string, string>),
        "content-length": body.length,
      });
      response.end(body);
    },
    start: (code, headers) => {
      response.writeHead(code, headers as Record<string, string>);
      response.flushHeaders();
    },
    write: (bytes) => response.write(bytes),
    drained: () => drainOf(response, controller.signal),
    end: () => response.end(),
    destroy: () => socket.destroy(),
  };
  await options.handle(http1Request(options, request, controller.signal), reply);
}

async function handleUpgrade(
  options: HttpServerOptions,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const controller = new AbortController();
  socket.on("close", () => controller.abort(CLIENT_GONE));
  socket.on("error", () => undefined);
  await options.upgrade(http1Request(options, request, controller.signal), socket, head);
}

function http1Request(
  options: HttpServerOptions,
  request: IncomingMessage,
  signal: AbortSignal,
): HttpRequest {
  return {
    method: request.method ?? "GET",
    url: request.url ?? "/",
    headers: request.headers as Record<string, string | undefined>,
    rawHeaders: request.rawHeaders,
    peer: peerOf(options, request.socket as TLSSocket),
    signal,
    protocol: "http/1.1",
    readBody: () => readAll(request, Number(request.headers["content-length"] ?? -1)),
    bodyStream: request,
  };
}

async function handleHttp2(
  options: HttpServerOptions,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  rawHeaders: readonly string[],
): Promise<void> {
  const controller = new AbortController();
  stream.on("close", () => controller.abort(CLIENT_GONE));
  stream.on("error", () => undefined);
  const socket = stream.session?.socket as TLSSocket | undefined;
  if (socket === undefined) return;
  const respond = (code: number, extra: OutgoingHeaders, endStream: boolean): boolean => {
    if (stream.destroyed || stream.headersSent) return false;
    const headers = extra as OutgoingHttpHeaders;
    stream.respond({ ...headers, [h2.HTTP2_HEADER_STATUS]: code }, { endStream });
    return true;
  };
  const reply: Reply = {
    send: (code, extra, body) => {
      const lengthy = { ...extra, "content-length": String(body.length) };
      if (!respond(code, lengthy, body.length === 0) || body.length === 0) return;
      stream.end(body);
    },
    start: (code, extra) => void respond(code, extra, false),
    write: (bytes) => !stream.destroyed && stream.write(bytes),
    drained: () => drainOf(stream, controller.signal),
    end: () => void stream.end(),
    destroy: () => stream.close(h2.NGHTTP2_INTERNAL_ERROR),
  };
  const request: HttpRequest = {
    method: headers[":method"] ?? "GET",
    url: headers[":path"] ?? "/",
    headers: headers as Record<string, string | undefined>,
    rawHeaders,
    peer: peerOf(options, socket),
    signal: controller.signal,
    protocol: "h2",
    readBody: () => readAll(stream, Number(headers["content-length"] ?? -1)),
    bodyStream: stream,
  };
  await options.handle(request, reply);
}

const CLIENT_GONE = new Error("the client is gone");
const NO_BYTES = new Uint8Array(0);

async function readAll(
  source: AsyncIterable<Buffer>,
  announced: number,
): Promise<Uint8Array | undefined> {
  if (announced === 0) return NO_BYTES;
  const tooLong = announced > BODY_BYTES_MAX;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of source) {
    length += chunk.length;
    if (!tooLong && length <= BODY_BYTES_MAX) chunks.push(chunk);
    if (length > BODY_BYTES_MAX * 2) return undefined; // not worth waiting for its end
  }
  if (tooLong || length > BODY_BYTES_MAX) return undefined;
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, length);
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

function answerBadRequest(socket: Socket): void {
  if (!socket.writable) return;
  const body = "400 Bad Request";
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`,
  );
}
