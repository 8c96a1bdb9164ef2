/** HTTP/1 on connections that did not agree on HTTP/2, and what it says to requests that are none. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Connections } from "#lib/http/connections.ts";
import type { Clock } from "#lib/time/clock.ts";
import { methodNotAllowedStatus } from "../request/router.ts";
import type { ExchangeRunner } from "./exchange-runner.ts";
import { Http1Exchange } from "./http1-exchange.ts";
import type { KnownPeers } from "./known-peers.ts";
import { hasBadEscape } from "./split-url.ts";

const HEADERS_BYTES_MAX = 1024 * 1024;
const HEADERS_COUNT_MAX = 2_000;
/** Parsing a query costs about 1 µs for each of its parameters. */
const URL_LENGTH_MAX = 128 * 1024;
/** A client whose headers take longer is disconnected. */
const HEADERS_WITHIN_MS = 32_000;

/** So long a client may go on sending the body of a request that was answered without it. */
const LINGER_MS = 500;
/** Of a body that is not read; what the kernel takes for a connection comes on top. */
const LINGER_BYTES_MAX = 64 * 1024;

/** What a protocol is served with. */
export interface ProtocolOptions {
  readonly clock: Clock;
  readonly runner: ExchangeRunner;
  readonly peers: KnownPeers;
  readonly connections: Connections;
  readonly idleMaxMs: number;
}

/** It listens to nothing itself: connections are emitted at it. */
export function createHttp1Server(
  options: ProtocolOptions,
  headersBytesMax = HEADERS_BYTES_MAX,
): Server {
  const { clock, runner, peers, connections, idleMaxMs } = options;
  const server = createServer({
    maxHeaderSize: headersBytesMax,
    requestTimeout: 0,
    requireHostHeader: false, // looked at here, for the words
  });
  // Node drops the headers beyond its limit. One more than allowed shows that there are too many.
  server.maxHeadersCount = HEADERS_COUNT_MAX + 1;
  server.keepAliveTimeout = idleMaxMs;
  server.headersTimeout = HEADERS_WITHIN_MS;
  // A client that has ended its side may still wait for the response. The types lack this option.
  (server as { httpAllowHalfOpen?: boolean }).httpAllowHalfOpen = true;
  server.emit("listening"); // so that it looks after its timeouts
  server.on("request", (request, response) => answer(options, request, response, false));
  server.on("checkContinue", (request, response) => answer(options, request, response, true));
  server.on("checkExpectation", (_request, response) =>
    refuse(response, "417 Expectation Failed", ""),
  );
  server.on("connect", (_request, socket) => {
    socket.end(
      `HTTP/1.1 404 Not Found\r\n${PLAIN_TEXT}Connection: close\r\n\r\n404 page not found\n`,
    );
  });
  server.on("upgrade", (request, socket, sent) => {
    const { method = "GET", url = "/", rawHeaders } = request;
    const headers = request.headers as Record<string, string | undefined>;
    const authenticated = (): void => connections.authenticated(request.socket as TLSSocket);
    const head = { method, url, headers, rawHeaders, authenticated };
    socket.once("end", () => socket.end()); // what they speak now has an end of its own
    runner.join(head, peers.at(request.socket as TLSSocket), socket, sent);
  });
  server.on("clientError", (error, socket) => {
    answerBadRequest(error, socket as Socket);
    disconnect(clock, socket as Socket);
  });
  return server;
}

/** `wantsContinue`: the client waits for "100 Continue" before it sends its body. */
function answer(
  { clock, runner, peers, connections }: ProtocolOptions,
  request: IncomingMessage,
  response: ServerResponse,
  wantsContinue: boolean,
): void {
  const socket = request.socket as TLSSocket;
  response.on("close", () => {
    if (connections.closing) socket.destroySoon();
    else if (!request.complete) linger(clock, request);
  });
  const fault = requestFault(request);
  if (fault !== undefined) {
    refuse(response, fault);
    return;
  }
  // Node reads and drops the whole body of an answered request, however long, if nothing of it was asked for.
  if (!request.complete) request.read(0);
  const peer = peers.at(socket);
  if (peers.isOutdated(socket) || connections.draining) response.shouldKeepAlive = false;
  connections.occupy(socket);
  runner.run(new Http1Exchange(request, response, peer, connections, wantsContinue));
}

/**
 * The answer came before the whole body. What still comes is read and dropped for a moment, since a
 * client that has more to send than the connection takes would not see the answer otherwise. Many
 * connections that send large bodies at once would make more garbage than is collected meanwhile.
 */
function linger(clock: Clock, request: IncomingMessage): void {
  const { socket } = request;
  let droppedBytes = 0;
  request.on("data", (chunk: Buffer) => {
    droppedBytes += chunk.length;
    if (droppedBytes > LINGER_BYTES_MAX) request.pause();
  });
  const timer = clock.schedule(LINGER_MS, () => {
    if (!request.complete) socket.destroy();
  });
  socket.once("close", () => timer.cancel());
}

/** Reads no more; the client has a moment to read the answer. */
function disconnect(clock: Clock, socket: Socket): void {
  socket.pause();
  const timer = clock.schedule(LINGER_MS, () => socket.destroy());
  socket.once("close", () => timer.cancel());
}

/** What makes a request none, in the words of its answer's first line. */
function requestFault(request: IncomingMessage): string | undefined {
  const { httpVersionMajor, httpVersionMinor, url = "" } = request;
  if (httpVersionMajor !== 1) {
    return httpVersionMajor === 0
      ? "400 Bad Request"
      : "505 HTTP Version Not Supported: unsupported protocol version";
  }
  if (url.length > URL_LENGTH_MAX) return "414 URI Too Long";
  if (request.rawHeaders.length > HEADERS_COUNT_MAX * 2) {
    return "431 Request Header Fields Too Large";
  }
  const { headers } = request;
  const { host } = headers;
  if (host === undefined) {
    if (httpVersionMinor > 0) return "400 Bad Request: missing required Host header";
  } else {
    if (hasManyHosts(request.rawHeaders)) return "400 Bad Request";
    if (!HOST.test(host)) return "400 Bad Request: malformed Host header";
  }
  if (hasBadEscape(url)) return "400 Bad Request";
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "chunked") return "501 Not Implemented";
  return undefined;
}

const HOST = /^[\w!$%&'()*+,.:;=[\]~-]*$/;

/** Names and values take turns. */
function hasManyHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  return hosts > 1;
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
  socket.end(`HTTP/1.1 ${body}\r\n${PLAIN_TEXT}Connection: close\r\n\r\n${body}`);
}

/** Node's parser refuses methods in lower case and unknown methods. */
const UNKNOWN_METHOD = `${JSON.stringify(methodNotAllowedStatus())}\n`;

/** What Node says of requests that are none. */
const REFUSALS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};
