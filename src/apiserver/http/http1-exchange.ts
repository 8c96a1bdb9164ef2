/** A request over HTTP/1 and its answer. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { OutgoingHttpHeaders } from "node:http2";
import type { Writable } from "node:stream";
import type { TLSSocket } from "node:tls";
import { ClientDisconnect } from "#lib/http/client-disconnect.ts";
import type { Connections } from "#lib/http/connections.ts";
import type { Peer } from "../request/request.ts";
import type { OutgoingHeaders } from "../response/answer.ts";
import type { ChunkBytes } from "../response/byte-chunk.ts";
import type { Deadline } from "./deadlines.ts";
import { drainOf } from "./drain.ts";
import { BODILESS, type Exchange } from "./exchange.ts";
import { readBody } from "./read-body.ts";

/** What may wait for a client before it counts as one that does not keep up. */
const UNSENT_BYTES_MAX = 64 * 1024;

export class Http1Exchange implements Exchange {
  readonly peer: Peer;
  auditId: string | undefined = undefined;
  deadline: Deadline | undefined = undefined;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #connections: Connections;
  #wantsContinue: boolean;
  /** The socket that the last chunk was written to directly. */
  #direct: Writable | undefined;
  readonly #disconnect = new ClientDisconnect();

  /** `wantsContinue`: the client waits for "100 Continue" before it sends its body. */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    peer: Peer,
    connections: Connections,
    wantsContinue: boolean,
  ) {
    this.peer = peer;
    this.#connections = connections;
    this.#request = request;
    this.#response = response;
    this.#wantsContinue = wantsContinue && !hasAll(request);
    response.on("close", () => {
      connections.release(request.socket as TLSSocket);
      this.deadline?.end();
      this.#disconnect.leave();
    });
    response.on("error", ignore);
  }

  get method(): string {
    return this.#request.method ?? "GET";
  }
  get url(): string {
    return this.#request.url ?? "/";
  }
  get headers(): Readonly<Record<string, string | undefined>> {
    return this.#request.headers as Record<string, string | undefined>;
  }
  get rawHeaders(): readonly string[] {
    return this.#request.rawHeaders;
  }
  get signal(): AbortSignal {
    return this.#disconnect.signal;
  }
  get gone(): boolean {
    return this.#disconnect.gone;
  }
  get started(): boolean {
    return this.#response.headersSent;
  }
  get bodyStream(): NodeJS.ReadableStream {
    this.#continue();
    return this.#request;
  }

  authenticated(): void {
    this.#connections.authenticated(this.#request.socket as TLSSocket);
  }

  onGone(listener: () => void): void {
    this.#disconnect.onLeave(listener);
  }

  readBody(): Promise<Uint8Array | undefined> {
    this.#continue();
    return readBody(this.#request, Number(this.#request.headers["content-length"] ?? -1));
  }

  send(code: number, headers: OutgoingHeaders, body: Uint8Array): void {
    const given = headers as OutgoingHttpHeaders;
    const all = BODILESS.has(code) ? given : { ...given, "content-length": body.length };
    // A client that is still sending its body after the response is disconnected.
    if (code === 504 && !hasAll(this.#request)) this.#response.shouldKeepAlive = false;
    this.#leaveOutTheUsual();
    if (code === 413) this.#response.statusMessage = "Request Entity Too Large"; // as it once was
    this.#response.writeHead(code, all);
    this.#response.end(body); // Node leaves the body out where there is none
  }

  start(code: number, headers: OutgoingHeaders): void {
    this.#leaveOutTheUsual();
    this.#response.writeHead(code, headers as OutgoingHttpHeaders);
    this.#response.flushHeaders();
    if (!("content-length" in headers)) this.#endWithClient();
  }

  write(bytes: Uint8Array): boolean {
    return this.#response.write(bytes);
  }

  /**
   * Past the response, which would take a chunk in three parts and copy them together for each
   * client; but only to a client that takes chunks and has had the answers to all it asked before.
   */
  writeChunk({ bytes, chunk }: ChunkBytes): boolean {
    const { socket, chunkedEncoding } = this.#response;
    if (socket === null || !chunkedEncoding) return this.#response.write(bytes);
    this.#direct = socket;
    socket.write(chunk);
    return !socket.writableNeedDrain || socket.writableLength < UNSENT_BYTES_MAX;
  }

  drained(): Promise<void> {
    return drainOf(this.#direct ?? this.#response, this.signal);
  }

  end(): void {
    this.#response.end();
  }

  destroy(): void {
    this.#request.socket.destroy();
  }

  #continue(): void {
    if (this.#wantsContinue) this.#response.writeContinue();
    this.#wantsContinue = false;
  }

  /** HTTP/1.1 keeps connections by default: the header `Connection: keep-alive` is left out. */
  #leaveOutTheUsual(): void {
    const { httpVersionMinor, socket } = this.#request;
    // A client that has ended its side gets `Connection: close`; Node leaves that out without the header.
    if (httpVersionMinor > 0 && this.#response.shouldKeepAlive && !socket.readableEnded) {
      this.#response.removeHeader("connection");
    }
  }

  /** A client that has ended its side gets the rest of a response, unless the response has no end. */
  #endWithClient(): void {
    const { socket } = this.#request;
    const end = (): void => void socket.destroy();
    if (socket.readableEnded) end();
    socket.once("end", end);
    this.#response.once("close", () => socket.off("end", end));
  }
}

function ignore(): void {}

function hasAll({ complete, headers }: IncomingMessage): boolean {
  const length = headers["content-length"] ?? "0";
  return complete || (length === "0" && headers["transfer-encoding"] === undefined);
}
