/**
 * HTTPS with HTTP/1.1 and HTTP/2 on one port. Sockets become requests here; everything above knows
 * neither protocol.
 *
 * Closing lets running requests finish for a while, then ends every connection, also those that never
 * came to an agreement on TLS.
 *
 * TLS is terminated once, and each connection goes to the server of the protocol that was agreed on:
 * the stream interface of HTTP/2 costs a third less than the one that imitates HTTP/1.
 */
import { createServer as createHttp1, type IncomingMessage, type ServerResponse } from "node:http";
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { createServer as createTls, type SecureContextOptions, type TLSSocket } from "node:tls";
import { Answerer, type AnswererOptions } from "./answerer.ts";
import type { ClientAuthorities } from "./authn/peer-certificate.ts";
import { Http1Exchange, Http2Exchange } from "./http-exchange.ts";
import { KnownPeers } from "./known-peers.ts";
import type { Peer } from "./request.ts";
import { methodNotAllowedStatus } from "./router.ts";
import { hasBadEscape } from "./split-url.ts";

const HEADERS_BYTES_MAX = 1024 * 1024;
const STREAMS_PER_CONNECTION_MAX = 250;
/** Who takes longer to say what they want is not served. */
const HANDSHAKE_WITHIN_MS = 10_000;
const HEADERS_WITHIN_MS = 32_000;
/** A connection on which nothing is asked for so long is ended. */
const IDLE_MAX_MS = 90_000;

export interface HttpServerOptions extends AnswererOptions {
  readonly tls: TlsOptions;
  readonly host: string;
  readonly port: number;
  /** Upstream's 90 seconds unless given. */
  readonly idleMaxMs?: number;
  /** Whether HTTP/2 is spoken too; it is unless given. */
  readonly http2?: boolean;
  /** Requests at a time on one of its connections; 0 is upstream's number. */
  readonly streamsMax?: number;
  /** A connection came to no agreement on TLS. */
  handshakeFailed?(): void;
  /** The connection of someone who had asked for something has ended. */
  disconnected?(peer: Peer): void;
}

export interface TlsOptions {
  readonly context: SecureContextOptions & { readonly ca?: string | string[] };
  /** Who may have signed clients' certificates. */
  readonly authorities: ClientAuthorities;
}

export interface HttpServer {
  readonly port: number;
  /** Takes new certificates for new connections; authorities count for those that are open, too. */
  renew(tls: TlsOptions): void;
  /** Stops accepting; resolves when all connections have ended, after `graceMs` at the latest. */
  close(graceMs: number): Promise<void>;
}

export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { tls, host, port, logger, clock, idleMaxMs = IDLE_MAX_MS } = options;
  const connections = new Set<Socket>(); // below TLS
  const sockets = new Set<TLSSocket>();
  const sessions = new Set<ServerHttp2Session>();
  let closing = false;
  const answerer = new Answerer(options);
  const peers = new KnownPeers({
    authorities: tls.authorities,
    handshakeMaxMs: HANDSHAKE_WITHIN_MS,
    elapsedMs: () => clock.elapsedMs(),
    ...(options.disconnected && { disconnected: (peer) => options.disconnected?.(peer) }),
  });
  const http1 = createHttp1({
    maxHeaderSize: HEADERS_BYTES_MAX,
    requestTimeout: 0,
    requireHostHeader: false, // looked at here, for the words
  });
  http1.maxHeadersCount = 0; // their bytes are counted
  http1.keepAliveTimeout = idleMaxMs;
  http1.headersTimeout = HEADERS_WITHIN_MS;
  // Who says no more may still be waiting for an answer. The types do not know this, node does.
  (http1 as { httpAllowHalfOpen?: boolean }).httpAllowHalfOpen = true;
  http1.emit("listening"); // it listens to nothing itself, but has to look after its timeouts
  const onRequest = (
    request: IncomingMessage,
    response: ServerResponse,
    wantsContinue: boolean,
  ): void => {
    const socket = request.socket as TLSSocket;
    response.on("close", () => {
      if (closing) socket.destroySoon();
    });
    const fault = requestFault(request);
    if (fault !== undefined) {
      refuse(response, fault);
      return;
    }
    const peer = peers.at(socket);
    if (peers.isOutdated(socket)) response.shouldKeepAlive = false;
    answerer.run(new Http1Exchange(request, response, peer, occupy(socket), wantsContinue));
  };
  http1.on("request", (request, response) => onRequest(request, response, false));
  http1.on("checkContinue", (request, response) => onRequest(request, response, true));
  http1.on("checkExpectation", (_request, response) =>
    refuse(response, "417 Expectation Failed", ""),
  );
  http1.on("connect", (_request, socket) => {
    socket.end(
      `HTTP/1.1 404 Not Found\r\n${PLAIN_TEXT}Connection: close\r\n\r\n404 page not found\n`,
    );
  });
  http1.on("upgrade", (request, socket, sent) => {
    const { method = "GET", url = "/", rawHeaders } = request;
    const headers = request.headers as Record<string, string | undefined>;
    const head = { method, url, headers, rawHeaders };
    socket.once("end", () => socket.end()); // what they speak now has an end of its own
    answerer.join(head, peers.at(request.socket as TLSSocket), socket, sent);
  });
  http1.on("clientError", (error, socket) => answerBadRequest(error, socket as Socket));
  // Loaded where connections are, which often is in another thread: it takes its time.
  const http2 = process.getBuiltinModule("node:http2").createServer({
    settings: {
      maxConcurrentStreams: options.streamsMax || STREAMS_PER_CONNECTION_MAX,
      initialWindowSize: 1024 * 1024,
    },
    maxSessionMemory: 64,
  });
  http2.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("error", () => undefined);
    // Starts anew with whatever is sent; a quiet watch keeps the connection, so it is asked again.
    session.on("timeout", () => {
      if (busy.has(session)) session.setTimeout(idleMaxMs);
      else session.close();
    });
    session.setTimeout(idleMaxMs);
  });
  // The types do not know the last argument; node does (https://nodejs.org/api/http2.html).
  const onStream = (
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    _flags: number,
    rawHeaders: readonly string[] = [],
  ): void => handleHttp2(answerer, peers, stream, headers, rawHeaders);
  http2.on("stream", onStream);

  const server = createTls(
    {
      minVersion: "TLSv1.2",
      ...tls.context,
      ALPNProtocols: options.http2 === false ? ["http/1.1"] : ["h2", "http/1.1"],
      allowHalfOpen: true,
      requestCert: true,
      rejectUnauthorized: false,
      handshakeTimeout: HANDSHAKE_WITHIN_MS,
    },
    (socket) => {
      sockets.add(socket);
      peers.add(socket);
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
  server.on("tlsClientError", (error) => {
    logger.debug("TLS handshake failed", { error });
    options.handshakeFailed?.();
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, backlog: 1024 }, () => {
      server.off("error", reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    renew: (renewed) => {
      server.setSecureContext(renewed.context);
      const outdated = new Set(peers.renew(renewed.authorities, sockets));
      for (const session of sessions) {
        if (outdated.has(session.socket as TLSSocket)) session.close();
      }
      for (const socket of outdated) {
        if (socket.alpnProtocol !== "h2" && !busy.has(socket)) socket.destroySoon();
      }
    },
    close: async (graceMs) => {
      closing = true;
      http1.close();
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
      answerer.stop();
    },
  };
}

/** How many requests of a connection are being answered; absent means none. */
const busy = new WeakMap<TLSSocket | ServerHttp2Session, number>();

/** Another request on a connection; call the outcome when it is answered. */
function occupy(connection: TLSSocket | ServerHttp2Session): () => void {
  busy.set(connection, (busy.get(connection) ?? 0) + 1);
  return () => {
    const left = busy.get(connection)! - 1;
    if (left > 0) busy.set(connection, left);
    else busy.delete(connection);
  };
}

/** What makes a request none, in the words of its answer's first line. */
function requestFault(request: IncomingMessage): string | undefined {
  const { httpVersionMajor, httpVersionMinor, headers, url = "" } = request;
  if (httpVersionMajor !== 1) {
    return httpVersionMajor === 0
      ? "400 Bad Request"
      : "505 HTTP Version Not Supported: unsupported protocol version";
  }
  if (headers.host === undefined && httpVersionMinor > 0) {
    return "400 Bad Request: missing required Host header";
  }
  if (hasBadEscape(url)) return "400 Bad Request";
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "chunked") return "501 Not Implemented";
  return undefined;
}

/** The connection ends with the answer, and nothing that comes on it is listened to any more. */
function refuse(response: ServerResponse, fault: string, text = TEXTS[fault] ?? fault): void {
  const [code = ""] = fault.split(" ", 1);
  if (response.socket !== null) refused.add(response.socket);
  response.useChunkedEncodingByDefault = false;
  response.writeHead(Number(code), fault.slice(code.length + 1), {
    ...(text === "" ? { "content-length": 0 } : { "content-type": "text/plain; charset=utf-8" }),
    connection: "close",
  });
  response.end(text);
}

const TEXTS: Readonly<Record<string, string>> = {
  "501 Not Implemented": "Unsupported transfer encoding",
};
const refused = new WeakSet<Socket>();
const PLAIN_TEXT = "Content-Type: text/plain; charset=utf-8\r\n";

function handleHttp2(
  answerer: Answerer,
  peers: KnownPeers,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  rawHeaders: readonly string[],
): void {
  const { session } = stream;
  const socket = session?.socket as TLSSocket | undefined;
  if (session === undefined || socket === undefined) return;
  const done = occupy(session as ServerHttp2Session);
  answerer.run(new Http2Exchange(stream, headers, rawHeaders, peers.at(socket), done));
  if (peers.isOutdated(socket)) session.close(); // after what is asked on it by now
}

function answerBadRequest(
  { code, rawPacket }: NodeJS.ErrnoException & { readonly rawPacket?: Buffer },
  socket: Socket,
): void {
  if (!socket.writable || refused.has(socket)) return;
  const line = code === "HPE_INVALID_METHOD" ? (rawPacket?.toString("latin1") ?? "") : "";
  if (/^[\w!#$%&'*+.^`|~-]+ \S+ HTTP\/1\.[01]\r\n/.test(line)) {
    const length = Buffer.byteLength(UNKNOWN_METHOD);
    socket.end(
      "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: application/json\r\nConnection: close\r\n" +
        `Content-Length: ${length}\r\n\r\n${UNKNOWN_METHOD}`,
    );
    return;
  }
  const body = REFUSALS[code ?? ""] ?? "400 Bad Request";
  socket.end(
    `HTTP/1.1 ${body}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${body}`,
  );
}

/** Methods in lower case, or that nobody knows, do not get through Node's parser. */
const UNKNOWN_METHOD = `${JSON.stringify(methodNotAllowedStatus())}\n`;

/** What Node says of requests that are none. */
const REFUSALS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};
