/**
 * Sends requests to endpoints over HTTP/1.1.
 *
 * Promises:
 * 1. Connections are kept and used again, at most so many idle ones for each endpoint.
 * 2. The body is read only once the connection is there, so a request that could not be sent can go
 *    to another endpoint. One that was sent is repeated only if it has no body, its method is
 *    idempotent, and the connection was an old one that the endpoint had closed meanwhile.
 */
import { Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest, Agent as TlsAgent } from "node:https";
import type { RoutePolicy } from "../routes/route-policy.ts";
import type { Endpoint } from "./endpoint-set.ts";
import { beginResponse, type Exchange, writeBody } from "./exchange.ts";
import { responseHeaders } from "./headers.ts";

/** What came of an attempt. */
export type Attempt =
  | { readonly outcome: "answered" }
  | { readonly outcome: "unsent"; readonly why: string }
  | { readonly outcome: "failed"; readonly status: 413 | 502 | 504; readonly why: string };

export interface Outgoing {
  readonly method: string;
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly hasBody: boolean;
  /** Of a body whose length the client did not say. */
  readonly bodyBytesMax: number;
  readonly policy: RoutePolicy;
  readonly isTls: boolean;
  /** Added to the response. */
  readonly extraHeaders: readonly string[];
}

const IDLE_PER_ENDPOINT_MAX = 64;
const IDEMPOTENT: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "OPTIONS",
  "TRACE",
  "PUT",
  "DELETE",
]);

export class Http1Upstream implements Disposable {
  readonly #plain = new Agent({ keepAlive: true, maxFreeSockets: IDLE_PER_ENDPOINT_MAX });
  // Pods have certificates that no one vouches for: TLS to them hides, it does not prove who they are.
  readonly #tls = new TlsAgent({
    keepAlive: true,
    maxFreeSockets: IDLE_PER_ENDPOINT_MAX,
    rejectUnauthorized: false,
  });

  request(endpoint: Endpoint, outgoing: Outgoing): ClientRequest {
    const { host, port } = endpoint;
    const { method, path, headers, isTls, policy } = outgoing;
    const agent = isTls ? this.#tls : this.#plain;
    const options = { agent, host, port, method, path, timeout: policy.connectTimeoutMs };
    const send = isTls ? httpsRequest : httpRequest;
    return send({ ...options, headers: headers as string[], setHost: false });
  }

  send(exchange: Exchange, endpoint: Endpoint, outgoing: Outgoing): Promise<Attempt> {
    const request = this.request(endpoint, outgoing);
    return new Promise((resolve) => new Http1Attempt(exchange, request, outgoing, resolve).start());
  }

  /** Closes idle connections to endpoints that are gone. */
  retain(isThere: (authority: string) => boolean): void {
    for (const agent of [this.#plain, this.#tls]) {
      for (const sockets of Object.values(agent.freeSockets)) {
        for (const socket of sockets ?? []) {
          const { remoteAddress: host = "", remotePort } = socket;
          const authority = host.includes(":")
            ? `[${host}]:${remotePort}`
            : `${host}:${remotePort}`;
          if (!isThere(authority)) socket.destroy();
        }
      }
    }
  }

  [Symbol.dispose](): void {
    this.#plain.destroy();
    this.#tls.destroy();
  }
}

class Http1Attempt {
  readonly #exchange: Exchange;
  readonly #request: ClientRequest;
  readonly #outgoing: Outgoing;
  readonly #resolve: (attempt: Attempt) => void;
  #isConnected = false;
  #isAnswering = false;
  #isOver = false;

  constructor(
    exchange: Exchange,
    request: ClientRequest,
    outgoing: Outgoing,
    resolve: (attempt: Attempt) => void,
  ) {
    this.#exchange = exchange;
    this.#request = request;
    this.#outgoing = outgoing;
    this.#resolve = resolve;
  }

  start(): void {
    const request = this.#request;
    const { policy, hasBody } = this.#outgoing;
    const { response } = this.#exchange;
    const onClientGone = (): void => {
      if (response.writableFinished) return;
      this.#end({ outcome: "answered" });
      request.destroy();
    };
    response.once("close", onClientGone);
    request.on("socket", (socket) => {
      const connected = (): void => {
        this.#isConnected = true;
        request.setTimeout(policy.readTimeoutMs);
        if (hasBody) this.#sendBody();
      };
      if (socket.connecting) socket.once("connect", connected);
      else connected();
    });
    request.on("timeout", () => {
      const why = this.#isConnected ? "the endpoint did not answer in time" : "connect timeout";
      this.#fail(why, 504);
      request.destroy();
    });
    request.on("error", (error) => this.#fail(error.message, 502));
    request.on("response", (upstream) => this.#answer(upstream));
    request.on("upgrade", (_upstream, socket) => {
      socket.destroy();
      this.#fail("the endpoint changed the protocol unasked", 502);
    });
    if (!hasBody) request.end();
  }

  #sendBody(): void {
    const { request: client } = this.#exchange;
    const { bodyBytesMax } = this.#outgoing;
    let bytes = 0;
    client.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bodyBytesMax > 0 && bytes > bodyBytesMax) {
        this.#end({ outcome: "failed", status: 413, why: "the body is too large" });
        this.#request.destroy();
        client.removeAllListeners("data");
        client.pause();
        return;
      }
      if (this.#isOver || this.#request.write(chunk)) return;
      client.pause();
      this.#request.once("drain", () => client.resume());
    });
    client.once("end", () => this.#request.end());
    client.once("error", () => this.#request.destroy());
  }

  #answer(upstream: IncomingMessage): void {
    if (this.#isOver) {
      upstream.destroy();
      return;
    }
    this.#isAnswering = true;
    const exchange = this.#exchange;
    const { response } = exchange;
    const headers = responseHeaders(upstream.rawHeaders);
    for (const each of this.#outgoing.extraHeaders) headers.push(each);
    try {
      const isStream = upstream.headers["content-length"] === undefined;
      beginResponse(exchange, upstream.statusCode ?? 502, headers, isStream);
    } catch (error) {
      this.#fail(`the response has invalid headers: ${error}`, 502);
      upstream.destroy();
      return;
    }
    upstream.on("data", (chunk: Buffer) => {
      if (writeBody(exchange, chunk)) return;
      upstream.pause();
      response.once("drain", () => upstream.resume());
    });
    upstream.on("end", () => {
      const trailers = upstream.rawTrailers;
      if (trailers.length > 0) response.addTrailers(upstream.trailers as Record<string, string>);
      response.end();
      this.#end({ outcome: "answered" });
    });
    upstream.on("error", (error) => this.#fail(error.message, 502));
    upstream.on("close", () => {
      if (!upstream.complete) this.#fail("the endpoint closed the connection", 502);
    });
  }

  #fail(why: string, status: 502 | 504): void {
    const { method, hasBody } = this.#outgoing;
    const isStale = this.#request.reusedSocket && !hasBody && IDEMPOTENT.has(method);
    const isUnsent = !this.#isConnected || (isStale && status === 502);
    const mayRepeat = isUnsent && !this.#isAnswering;
    this.#end(mayRepeat ? { outcome: "unsent", why } : { outcome: "failed", status, why });
  }

  #end(attempt: Attempt): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#resolve(attempt);
  }
}
