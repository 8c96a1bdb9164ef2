/** A stream of HTTP/2: one request and its answer. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
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

/** Of the codes with which a stream ends (RFC 9113, section 7). */
const NO_ERROR = 0;

export class Http2Exchange implements Exchange {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly rawHeaders: readonly string[];
  readonly peer: Peer;
  auditId: string | undefined = undefined;
  deadline: Deadline | undefined = undefined;
  readonly #stream: ServerHttp2Stream;
  readonly #connections: Connections;
  readonly #socket: TLSSocket;
  readonly #disconnect = new ClientDisconnect();
  /** The client has sent its whole request. */
  #hasAll: boolean;

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
    peer: Peer,
    connections: Connections,
    socket: TLSSocket,
  ) {
    this.#connections = connections;
    this.#socket = socket;
    this.#stream = stream;
    this.#hasAll = stream.endAfterHeaders;
    this.headers = headers as Record<string, string | undefined>;
    this.rawHeaders = rawHeaders;
    this.peer = peer;
    stream.on("close", () => {
      connections.release(socket);
      this.deadline?.end();
      this.#disconnect.leave();
    });
    stream.on("error", ignore);
  }

  get method(): string {
    return this.headers[":method"] ?? "GET";
  }
  get url(): string {
    return this.headers[":path"] ?? "/";
  }
  get signal(): AbortSignal {
    return this.#disconnect.signal;
  }
  get gone(): boolean {
    return this.#disconnect.gone;
  }
  get started(): boolean {
    return this.#stream.headersSent;
  }
  get bodyStream(): NodeJS.ReadableStream {
    return this.#stream;
  }

  authenticated(): void {
    this.#connections.authenticated(this.#socket);
  }

  onGone(listener: () => void): void {
    this.#disconnect.onLeave(listener);
  }

  async readBody(): Promise<Uint8Array | undefined> {
    const bytes = await readBody(this.#stream, Number(this.headers["content-length"] ?? -1));
    this.#hasAll = bytes !== undefined;
    return bytes;
  }

  send(code: number, headers: OutgoingHeaders, body: Uint8Array): void {
    const empty = body.length === 0 || this.method === "HEAD";
    const length = BODILESS.has(code) ? {} : { "content-length": String(body.length) };
    if (!this.#respond(code, { ...headers, ...length }, empty)) return;
    if (empty) this.#refuseRest();
    // A callback costs Node an error object if the stream is destroyed right after its end.
    else if (this.#hasAll) this.#stream.end(body);
    else this.#stream.end(body, () => this.#refuseRest());
  }

  start(code: number, headers: OutgoingHeaders): void {
    this.#respond(code, headers, false);
  }

  write(bytes: Uint8Array): boolean {
    return !this.#stream.destroyed && this.#stream.write(bytes);
  }

  writeChunk({ bytes }: ChunkBytes): boolean {
    return this.write(bytes);
  }

  drained(): Promise<void> {
    return drainOf(this.#stream, this.signal);
  }

  end(): void {
    this.#stream.end();
  }

  /**
   * With RST_STREAM and INTERNAL_ERROR. `close` would first end the response with END_STREAM, and the
   * client would take what it has for the whole.
   */
  destroy(): void {
    this.#stream.destroy(new Error("the response was aborted"));
  }

  /** The answer came before the whole body: the client need not send what is left of it. */
  #refuseRest(): void {
    if (!this.#hasAll && !this.#stream.destroyed) this.#stream.close(NO_ERROR);
  }

  #respond(code: number, headers: OutgoingHeaders, endStream: boolean): boolean {
    if (this.#stream.destroyed || this.#stream.headersSent) return false;
    const all = { ...headers, ":status": code } as OutgoingHttpHeaders;
    this.#stream.respond(all, { endStream });
    return true;
  }
}

function ignore(): void {}
