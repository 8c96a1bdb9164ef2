/**
 * Short requests over one HTTP/2 connection, as client-go sends them: all requests of a turn of the
 * event loop share one write, which costs a fraction of HTTP/1.1.
 *
 * Promises:
 * 1. The connection is made when a request needs it, and anew after it has ended or when the
 *    client's certificate was renewed.
 * 2. A request that the server certainly did not act on is sent once more on a new connection.
 *    Every other failure is a TransportError, or the signal's reason.
 * 3. A write that is aborted while nothing at all comes from the server is not delivered later: the
 *    connection is reset. A leader that lost its lease relies on it.
 * 4. A server without HTTP/2 is found out once: with `Http1Required` the caller has to use HTTP/1.1.
 */
import type { Http2Stream, StreamHandler } from "#lib/http2/client-stream.ts";
import { connectHttp2, type TlsOptions } from "#lib/http2/connect-http2.ts";
import { encodeHeaders } from "#lib/http2/hpack-encode.ts";
import type { HeaderField } from "#lib/http2/hpack-static-table.ts";
import type { Http2Connection } from "#lib/http2/http2-connection.ts";
import { Http2Error } from "#lib/http2/http2-error.ts";
import type { Clock } from "#lib/time/clock.ts";
import { TransportError } from "./transport.ts";

const CONNECT_TIMEOUT_MS = 30_000;
/** As client-go checks its connections. */
const KEEP_ALIVE = { idleMs: 30_000, answerMs: 15_000 };
/** A server from which nothing came for so long does not answer. */
const SILENT_MS = 1_000;
const FIRST_FINAL_STATUS = 200;
const PREFIXES_MAX = 64;
const RETIRED_MS = 60_000;

export interface Http2Request {
  readonly method: string;
  readonly path: string;
  readonly body: Buffer | undefined;
  readonly contentType: string;
  readonly authorization: string | undefined;
  /** The same object for as long as the identity is the same. */
  readonly tls: TlsOptions;
}

export interface Http2Answer {
  readonly code: number;
  readonly text: string;
  readonly receivedBytes: number;
  readonly retryAfter: string | undefined;
}

/** The server speaks HTTP/1.1 only. */
export class Http1Required extends Error {
  override readonly name = "Http1Required";
}

export class Http2Requests implements Disposable {
  readonly #server: URL;
  readonly #userAgent: string;
  readonly #clock: Clock;
  readonly #life = new AbortController();
  readonly #aborts = new SignalListeners();
  /** Header blocks that do not depend on the object, by method and content type. */
  readonly #prefixes = new Map<string, Prefix>();
  #current: Held | undefined;

  constructor(server: string, userAgent: string, clock: Clock) {
    this.#server = new URL(server);
    this.#userAgent = userAgent;
    this.#clock = clock;
  }

  [Symbol.dispose](): void {
    this.#life.abort();
    this.#current?.connection?.close();
  }

  async send(request: Http2Request, signal: AbortSignal | undefined): Promise<Http2Answer> {
    const headers = this.#headersOf(request);
    for (let isSecond = false; ; isSecond = true) {
      const connection = this.#openTo(request.tls) ?? (await this.#connect(request.tls));
      try {
        return await exchange(
          { connection, aborts: this.#aborts, clock: this.#clock },
          headers,
          request.body,
          signal,
        );
      } catch (error) {
        if (!(error instanceof Http2Error)) throw error;
        if (error.notProcessed && !isSecond) continue;
        throw new TransportError(error.message, { cause: error });
      }
    }
  }

  #openTo(tls: TlsOptions): Http2Connection | undefined {
    const { connection, tls: own } = this.#current ?? {};
    return own === tls && connection?.isOpen === true ? connection : undefined;
  }

  async #connect(tls: TlsOptions): Promise<Http2Connection> {
    const known = this.#current;
    const isOver = known?.connection !== undefined && !known.connection.isOpen;
    if (known !== undefined && known.tls === tls && !isOver) return await known.made;
    const held: Held = { tls, made: this.#attempt(tls), connection: undefined };
    this.#current = held;
    if (known?.connection?.isOpen) retire(known.connection, this.#clock);
    try {
      held.connection = await held.made;
      return held.connection;
    } catch (error) {
      if (this.#current === held) this.#current = undefined;
      if (!(error instanceof Http2Error)) throw error;
      if (error.code === "HTTP_1_1_REQUIRED") throw new Http1Required(error.message);
      throw new TransportError(error.message, { cause: error });
    }
  }

  #attempt(tls: TlsOptions): Promise<Http2Connection> {
    const { hostname, port } = this.#server;
    const host = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
    return connectHttp2({
      address: { host, port: port === "" ? 443 : Number(port) },
      tls,
      clock: this.#clock,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      keepAlive: KEEP_ALIVE,
      signal: this.#life.signal,
      onEnd: () => undefined,
    });
  }

  #headersOf({ method, path, body, contentType, authorization }: Http2Request): Buffer {
    const key = `${method} ${body === undefined ? "" : contentType} ${authorization ?? ""}`;
    let prefix = this.#prefixes.get(key);
    if (prefix === undefined) {
      prefix = {
        pseudo: encodeHeaders([
          [":method", method],
          [":scheme", "https"],
          [":authority", this.#server.host],
        ]),
        fields: encodeHeaders([
          ["accept", "application/json"],
          ["user-agent", this.#userAgent],
          ...(authorization === undefined ? [] : ([["authorization", authorization]] as const)),
          ...(body === undefined ? [] : ([["content-type", contentType]] as const)),
        ]),
        path: undefined,
        block: NO_BYTES,
      };
      if (this.#prefixes.size >= PREFIXES_MAX) this.#prefixes.clear();
      this.#prefixes.set(key, prefix);
    }
    if (prefix.path !== path) {
      const where = encodeHeaders([[":path", this.#pathOf(path)]]);
      prefix.block = Buffer.concat([prefix.pseudo, where, prefix.fields]);
      prefix.path = path;
    }
    if (body === undefined) return prefix.block;
    return Buffer.concat([prefix.block, encodeHeaders([["content-length", String(body.length)]])]);
  }

  /** A server may be behind a path of its own. */
  #pathOf(path: string): string {
    const { pathname } = this.#server;
    return pathname === "/" ? path : `${pathname.replace(/\/$/, "")}${path}`;
  }
}

/** What requests of one method have in common. Those of a batch have the path in common as well. */
interface Prefix {
  readonly pseudo: Buffer;
  readonly fields: Buffer;
  /** Of the last request. */
  path: string | undefined;
  /** All fields of the last request but the length of its body. */
  block: Buffer;
}

/** A connection that is made or being made, for one identity. */
interface Held {
  readonly tls: TlsOptions;
  readonly made: Promise<Http2Connection>;
  connection: Http2Connection | undefined;
}

/** The certificate was renewed: requests that are under way get their answers. */
function retire(connection: Http2Connection, clock: Clock): void {
  if (connection.streamCount === 0) connection.close();
  else clock.schedule(RETIRED_MS, () => connection.close());
}

interface Exchanger {
  readonly connection: Http2Connection;
  readonly aborts: SignalListeners;
  readonly clock: Clock;
}

/** One request and the whole answer. */
function exchange(
  { connection, aborts, clock }: Exchanger,
  headers: Buffer,
  body: Buffer | undefined,
  signal: AbortSignal | undefined,
): Promise<Http2Answer> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    let stream: Http2Stream | undefined;
    const sentAtMs = clock.elapsedMs();
    const abort = (): void => {
      if (signal !== undefined) aborts.delete(signal, abort);
      stream?.cancel();
      const silentSinceMs = Math.max(sentAtMs, connection.heardAtMs);
      const isSilent = clock.elapsedMs() - silentSinceMs >= SILENT_MS;
      if (body !== undefined && isSilent) connection.abandon();
      reject(signal?.reason);
    };
    const handler = new AnswerReader((error, answer) => {
      if (signal !== undefined) aborts.delete(signal, abort);
      if (answer === undefined) reject(error);
      else resolve(answer);
    });
    stream = connection.open(headers, handler);
    if (signal !== undefined) aborts.add(signal, abort);
    stream.write(body ?? NO_BYTES, true);
  });
}

const NO_BYTES = Buffer.alloc(0);

/** One listener for each signal, however many requests it can end: adding one to many is slow. */
class SignalListeners {
  readonly #bySignal = new Map<AbortSignal, { readonly all: Set<() => void>; abort(): void }>();

  add(signal: AbortSignal, listener: () => void): void {
    let group = this.#bySignal.get(signal);
    if (group === undefined) {
      const all = new Set<() => void>();
      const abort = (): void => {
        for (const one of [...all]) one();
      };
      group = { all, abort };
      this.#bySignal.set(signal, group);
      signal.addEventListener("abort", abort, { once: true });
    }
    group.all.add(listener);
  }

  delete(signal: AbortSignal, listener: () => void): void {
    const group = this.#bySignal.get(signal);
    if (group === undefined || !group.all.delete(listener) || group.all.size > 0) return;
    signal.removeEventListener("abort", group.abort);
    this.#bySignal.delete(signal);
  }
}

class AnswerReader implements StreamHandler {
  readonly #done: (error: Error | undefined, answer: Http2Answer | undefined) => void;
  readonly #chunks: Buffer[] = [];
  #code = 0;
  #retryAfter: string | undefined;

  constructor(done: (error: Error | undefined, answer: Http2Answer | undefined) => void) {
    this.#done = done;
  }

  onHeaders(fields: readonly HeaderField[]): void {
    if (this.#code >= FIRST_FINAL_STATUS) return; // trailers
    for (const [name, value] of fields) {
      if (name === ":status") this.#code = Number(value);
      else if (name === "retry-after") this.#retryAfter = value;
    }
  }

  onData(bytes: Buffer): void {
    this.#chunks.push(bytes);
  }

  onClose(error: Http2Error | undefined): void {
    if (error !== undefined) {
      this.#done(error, undefined);
      return;
    }
    const [only] = this.#chunks;
    const bytes =
      only !== undefined && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks);
    this.#done(undefined, {
      code: this.#code,
      text: bytes.toString("utf8"),
      receivedBytes: bytes.length,
      retryAfter: this.#retryAfter,
    });
  }
}
