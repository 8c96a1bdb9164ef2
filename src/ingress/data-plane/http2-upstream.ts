/**
 * Sends requests to endpoints over HTTP/2, for gRPC: one connection for each endpoint, trailers are
 * forwarded. A request whose connection could not be made goes to another endpoint.
 */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import type { Endpoint } from "./endpoint-set.ts";
import { beginResponse, type Exchange, writeBody } from "./exchange.ts";
import { http2Headers } from "./headers.ts";
import type { Attempt, Outgoing } from "./http1-upstream.ts";

export class Http2Upstream implements Disposable {
  readonly #sessions = new Map<string, ClientHttp2Session>();

  send(exchange: Exchange, endpoint: Endpoint, outgoing: Outgoing): Promise<Attempt> {
    const session = this.#session(endpoint, outgoing);
    return new Promise((resolve) => {
      const attempt = new Http2Attempt(exchange, session, outgoing, resolve);
      if (!session.connecting) {
        attempt.start();
        return;
      }
      const onFailure = (error?: Error): void =>
        resolve({ outcome: "unsent", why: error?.message ?? "the connection was closed" });
      session.setTimeout(outgoing.policy.connectTimeoutMs, () => {
        if (session.connecting) session.destroy(new Error("connect timeout"));
      });
      session.once("error", onFailure);
      session.once("close", onFailure);
      session.once("connect", () => {
        session.setTimeout(0);
        attempt.start();
      });
    });
  }

  /** Lets connections to endpoints that are gone finish what they carry, and end. */
  retain(isThere: (authority: string) => boolean): void {
    for (const [key, session] of this.#sessions) {
      if (isThere(key.slice(key.indexOf("//") + 2))) continue;
      this.#sessions.delete(key);
      session.close();
    }
  }

  [Symbol.dispose](): void {
    for (const session of this.#sessions.values()) session.destroy();
  }

  #session({ authority }: Endpoint, { isTls }: Outgoing): ClientHttp2Session {
    const key = `${isTls ? "https" : "http"}://${authority}`;
    const known = this.#sessions.get(key);
    if (known !== undefined && !known.closed && !known.destroyed) return known;
    const session = connect(key, { rejectUnauthorized: false });
    const forget = (): void => {
      if (this.#sessions.get(key) === session) this.#sessions.delete(key);
    };
    session.on("error", forget);
    session.on("close", forget);
    session.on("goaway", forget);
    session.unref();
    this.#sessions.set(key, session);
    return session;
  }
}

class Http2Attempt {
  readonly #exchange: Exchange;
  readonly #session: ClientHttp2Session;
  readonly #outgoing: Outgoing;
  readonly #resolve: (attempt: Attempt) => void;
  #isOver = false;

  constructor(
    exchange: Exchange,
    session: ClientHttp2Session,
    outgoing: Outgoing,
    resolve: (attempt: Attempt) => void,
  ) {
    this.#exchange = exchange;
    this.#session = session;
    this.#outgoing = outgoing;
    this.#resolve = resolve;
  }

  start(): void {
    const { method, path, headers, hasBody, isTls, policy } = this.#outgoing;
    const { host, "content-length": _length, ...rest } = http2Headers(headers);
    const scheme = isTls ? "https" : "http";
    const pseudo = { ":method": method, ":path": path, ":scheme": scheme, ":authority": host };
    const isGrpc = String(rest["content-type"] ?? "").startsWith("application/grpc");
    const te = isGrpc ? { te: "trailers" } : {};
    let stream: ClientHttp2Stream;
    try {
      stream = this.#session.request({ ...pseudo, ...rest, ...te }, { endStream: !hasBody });
    } catch (error) {
      this.#end({ outcome: "unsent", why: String(error) });
      return;
    }
    stream.setTimeout(policy.readTimeoutMs, () => {
      this.#fail("the endpoint did not answer in time", 504);
      stream.close(constants.NGHTTP2_CANCEL);
    });
    const { response } = this.#exchange;
    response.once("close", () => {
      if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
      this.#end({ outcome: "answered" });
    });
    stream.on("error", (error) => this.#fail(error.message, 502));
    stream.on("close", () => this.#fail("the endpoint closed the stream", 502));
    if (hasBody) this.#sendBody(stream);
    this.#receive(stream);
  }

  #sendBody(stream: ClientHttp2Stream): void {
    const { request } = this.#exchange;
    const { bodyBytesMax } = this.#outgoing;
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bodyBytesMax > 0 && bytes > bodyBytesMax) {
        this.#end({ outcome: "failed", status: 413, why: "the body is too large" });
        stream.close(constants.NGHTTP2_CANCEL);
        request.removeAllListeners("data");
        request.pause();
        return;
      }
      if (stream.closed || stream.write(chunk)) return;
      request.pause();
      stream.once("drain", () => request.resume());
    });
    request.once("end", () => stream.end());
  }

  #receive(stream: ClientHttp2Stream): void {
    const exchange = this.#exchange;
    const { response } = exchange;
    stream.on("response", (headers) => {
      const flat: string[] = [];
      for (const [name, value] of Object.entries(headers)) {
        if (name.startsWith(":") || value === undefined) continue;
        for (const each of Array.isArray(value) ? value : [value]) flat.push(name, String(each));
      }
      flat.push(...this.#outgoing.extraHeaders);
      beginResponse(
        exchange,
        headers[":status"] ?? 502,
        flat,
        headers["content-length"] === undefined,
      );
    });
    stream.on("trailers", (trailers) => {
      const texts = Object.entries(trailers).map(([name, value]) => [name, String(value)] as const);
      response.addTrailers(Object.fromEntries(texts));
    });
    stream.on("data", (chunk: Buffer) => {
      if (writeBody(exchange, chunk)) return;
      stream.pause();
      response.once("drain", () => stream.resume());
    });
    stream.on("end", () => {
      if (stream.rstCode !== constants.NGHTTP2_NO_ERROR || !response.headersSent) return;
      response.end();
      this.#end({ outcome: "answered" });
    });
  }

  #fail(why: string, status: 502 | 504): void {
    // The endpoint says that it did not begin with it, as one that shuts down does.
    const isRefused = why.includes("NGHTTP2_REFUSED_STREAM") && !this.#outgoing.hasBody;
    this.#end(isRefused ? { outcome: "unsent", why } : { outcome: "failed", status, why });
  }

  #end(attempt: Attempt): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#resolve(attempt);
  }
}
