/**
 * Requests to the API server with the credentials of one user. Audit logs and authorization see that
 * user; the dashboard has no rights of its own.
 *
 * Only the headers listed here pass in either direction: a page can neither impersonate other users
 * nor set cookies.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { request as httpsRequest, type RequestOptions } from "node:https";
import type { Duplex } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import { AuthenticatedAgents, type ConnectionUse } from "#client/authenticated-agents.ts";
import type { Connection } from "#client/kubeconfig.ts";
import { TransportError } from "#client/transport.ts";
import { messageOf } from "#lib/caught.ts";
import { DATA_HEADERS } from "./security-headers.ts";

const REQUEST_HEADERS = ["accept", "accept-encoding", "content-type", "content-length"];
const ANSWER_HEADERS = [
  "content-type",
  "content-encoding",
  "content-length",
  "retry-after",
  "warning",
  "audit-id",
];
const UPGRADE_HEADERS = ["sec-websocket-key", "sec-websocket-version"];
const USER_AGENT = "k8ts-dashboard";
/** As many as a page needs at first: nodes, namespaces, and the two documents of discovery. */
const CONNECTIONS_AHEAD = 4;

export class ApiAccess implements Disposable {
  readonly #connection: Connection;
  readonly #agents: AuthenticatedAgents;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#agents = new AuthenticatedAgents(connection);
  }

  [Symbol.dispose](): void {
    this.#agents[Symbol.dispose]();
  }

  /**
   * A GET whose answer is read by the dashboard itself, over a connection that is kept. Rejects only if there
   * is no answer.
   */
  async get(path: string, accept: string, signal: AbortSignal): Promise<IncomingMessage> {
    const options = await this.#options("GET", { accept }, "requests");
    return await this.#answer(path, { ...options, signal }, "", signal);
  }

  /** A GET whose answer goes on until the server or the signal ends it. */
  async watch(path: string, accept: string, signal: AbortSignal): Promise<IncomingMessage> {
    const options = await this.#options("GET", { accept }, "watches");
    return await this.#answer(path, { ...options, signal }, "", signal);
  }

  /** Opens connections that the first requests then find open. What fails, they will report. */
  async connectAhead(signal: AbortSignal): Promise<void> {
    const connect = async (): Promise<void> => {
      const answer = await this.get("/livez", "*/*", signal);
      await finished(answer.resume());
    };
    await Promise.allSettled(Array.from({ length: CONNECTIONS_AHEAD }, connect));
  }

  /** A POST whose answer is read by the dashboard itself. Rejects only if there is no answer. */
  async post(path: string, body: unknown, signal: AbortSignal): Promise<IncomingMessage> {
    const text = JSON.stringify(body);
    const length = String(Buffer.byteLength(text));
    const headers = { "content-type": "application/json", "content-length": length };
    const options = await this.#options("POST", headers, "requests");
    return await this.#answer(path, { ...options, signal }, text, signal);
  }

  #answer(
    path: string,
    options: RequestOptions,
    body: string,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const outgoing = httpsRequest(this.#connection.server + path, options, resolve);
      outgoing.on("error", (error: NodeJS.ErrnoException) => {
        // The server closed the kept connection meanwhile: it has not seen the request.
        const wasClosed = outgoing.reusedSocket && error.code === "ECONNRESET" && body === "";
        if (signal.aborted) reject(signal.reason);
        else if (wasClosed) resolve(this.#answer(path, options, body, signal));
        else reject(new TransportError(error.message, { cause: error }));
      });
      outgoing.end(body);
    });
  }

  /** Passes a request of the page on and streams the answer back. */
  async forward(path: string, request: IncomingMessage, reply: ServerResponse): Promise<void> {
    const use = isLong(path) ? "watches" : "requests";
    try {
      const headers = chosen(request.headers, REQUEST_HEADERS);
      const options = await this.#options(request.method ?? "GET", headers, use);
      const outgoing = httpsRequest(this.#connection.server + path, options);
      reply.once("close", () => outgoing.destroy());
      const answered = new Promise<IncomingMessage>((resolve, reject) => {
        outgoing.once("response", resolve);
        outgoing.on("error", reject);
      });
      pipeline(request, outgoing).catch(() => outgoing.destroy());
      const answer = await answered;
      if (answer.statusCode === 401) this.#agents.refused();
      const passed = chosen(answer.headers, ANSWER_HEADERS);
      reply.writeHead(answer.statusCode ?? 502, { ...passed, ...DATA_HEADERS });
      reply.flushHeaders();
      await pipeline(answer, reply);
    } catch (error) {
      if (reply.headersSent) reply.destroy();
      else replyUnreachable(reply, this.#connection.server, messageOf(error));
    }
  }

  /** Connects a WebSocket of the page with one of the API server: exec, attach. */
  async forwardUpgrade(
    path: string,
    protocols: readonly string[],
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): Promise<void> {
    const headers = {
      ...chosen(request.headers, UPGRADE_HEADERS),
      connection: "Upgrade",
      upgrade: "websocket",
      ...(protocols.length === 0 ? {} : { "sec-websocket-protocol": protocols.join(", ") }),
    };
    const options = await this.#options("GET", headers, "watches");
    const outgoing = httpsRequest(this.#connection.server + path, options);
    socket.once("close", () => outgoing.destroy());
    outgoing.on("error", () => socket.end(refusal(502, "Bad Gateway")));
    outgoing.on("response", (answer) => {
      answer.resume();
      socket.end(refusal(answer.statusCode ?? 502, answer.statusMessage ?? ""));
    });
    outgoing.on("upgrade", (answer, upstream, upstreamHead) => {
      socket.write(switchingProtocols(answer.headers));
      if (upstreamHead.length > 0) socket.write(upstreamHead);
      if (head.length > 0) upstream.write(head);
      // One side that ends or breaks ends the other.
      pipeline(upstream, socket).catch(() => socket.destroy());
      pipeline(socket, upstream).catch(() => upstream.destroy());
    });
    outgoing.end();
  }

  async #options(
    method: string,
    headers: Readonly<Record<string, string>>,
    use: ConnectionUse,
  ): Promise<RequestOptions> {
    const { agent, authorization } = await this.#agents.prepare(use);
    const identity = authorization === undefined ? {} : { authorization };
    return { method, agent, headers: { ...headers, ...identity, "user-agent": USER_AGENT } };
  }
}

/** Streams that stay open must not take the connections of short requests. */
function isLong(path: string): boolean {
  const { searchParams } = new URL(path, "http://unused");
  return searchParams.has("watch") || searchParams.has("follow");
}

function chosen(headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of names) {
    const value = headers[name];
    if (value !== undefined) kept[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return kept;
}

function replyUnreachable(reply: ServerResponse, server: string, why: string): void {
  const message = `the API server ${server} cannot be reached: ${why}`;
  const status = { apiVersion: "v1", kind: "Status", status: "Failure", message, code: 502 };
  reply.writeHead(502, { "content-type": "application/json", ...DATA_HEADERS });
  reply.end(JSON.stringify(status));
}

function switchingProtocols(headers: IncomingHttpHeaders): string {
  const names = ["sec-websocket-accept", "sec-websocket-protocol"];
  const lines = Object.entries(chosen(headers, names)).map(([name, value]) => `${name}: ${value}`);
  const first = ["HTTP/1.1 101 Switching Protocols", "connection: Upgrade", "upgrade: websocket"];
  return `${[...first, ...lines].join("\r\n")}\r\n\r\n`;
}

export function refusal(code: number, text: string): string {
  return `HTTP/1.1 ${code} ${text}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`;
}
