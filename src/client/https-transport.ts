/**
 * A transport over HTTPS: kept-alive HTTP/1.1 connections for requests, one connection a watch.
 * Answers are JSON; a watch is a stream of JSON lines.
 */
import type { IncomingMessage } from "node:http";
import { Agent, type AgentOptions, request as httpsRequest, type RequestOptions } from "node:https";
import { failure, type Result, success } from "#api/meta/status.ts";
import { statusFrom } from "#api/meta/status-from.ts";
import { messageOf } from "#lib/caught.ts";
import type { Credentials } from "./exec-credentials.ts";
import type { Connection } from "./kubeconfig.ts";
import type { BeginRequest } from "./request-metrics.ts";
import {
  type Call,
  METHODS,
  PATCH_MEDIA_TYPES,
  pathOf,
  type Transport,
  TransportError,
  type WatchCall,
  type WatchEvent,
} from "./transport.ts";

const LINE_BYTES_MAX = 64 << 20;
const SOCKETS_MAX = 64;
const WATCHES_MAX = 1_000;

export class HttpsTransport implements Transport, Disposable {
  readonly #connection: Connection;
  readonly #userAgent: string;
  readonly #begin: BeginRequest | undefined;
  #agents: Agents;

  constructor(connection: Connection, userAgent: string, begin?: BeginRequest) {
    this.#connection = connection;
    this.#userAgent = userAgent;
    this.#begin = begin;
    const { clientCertificate: cert, clientKey: key } = connection;
    this.#agents = agentsFor(connection, cert, key);
  }

  [Symbol.dispose](): void {
    this.#agents.end();
  }

  async send(call: Call, signal?: AbortSignal): Promise<Result<unknown>> {
    const contentType =
      call.patchType === undefined ? "application/json" : PATCH_MEDIA_TYPES[call.patchType];
    const path = withQuery(pathOf(call), call.query);
    const answer = await this.#request(
      METHODS[call.verb],
      path,
      call.body,
      contentType,
      "requests",
      signal,
    );
    return resultOf(answer, await textOf(answer));
  }

  async raw(path: string, signal?: AbortSignal): Promise<Result<unknown>> {
    const answer = await this.#request("GET", path, undefined, "", "requests", signal);
    return resultOf(answer, await textOf(answer));
  }

  async *watch(call: WatchCall, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const path = withQuery(pathOf(call), call.query);
    const answer = await this.#request("GET", path, undefined, "", "watches", signal);
    if (answer.statusCode !== 200) {
      const { statusCode = 0 } = answer;
      const result = resultOf(answer, await textOf(answer));
      const unexpected = `unexpected answer ${statusCode} to a watch`;
      yield {
        type: "ERROR",
        object: result.ok ? statusFrom(statusCode, unexpected) : result.status,
      };
      return;
    }
    try {
      for await (const line of linesOf(answer)) yield JSON.parse(line) as WatchEvent;
    } catch (error) {
      if (signal.aborted) return;
      throw new TransportError("the watch broke off", { cause: error });
    } finally {
      answer.destroy();
    }
  }

  /** What a program or a file hands out; another certificate needs other connections. */
  async #credentials(): Promise<Credentials | undefined> {
    let given: Credentials | undefined;
    try {
      given = await this.#connection.credentials?.get();
    } catch (error) {
      throw new TransportError(messageOf(error), { cause: error });
    }
    const { certPem, keyPem } = given?.certificate ?? {};
    if (certPem !== undefined && certPem !== this.#agents.certificate) {
      this.#agents.end();
      this.#agents = agentsFor(this.#connection, certPem, keyPem);
    }
    return given;
  }

  async #request(
    method: string,
    path: string,
    body: unknown,
    contentType: string,
    use: "requests" | "watches",
    signal: AbortSignal | undefined,
  ): Promise<IncomingMessage> {
    const { server, username, password, credentials } = this.#connection;
    const given = await this.#credentials();
    const token = given?.token ?? (await this.#connection.token?.());
    const agent = this.#agents[use];
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const headers: Record<string, string | number> = {
      accept: "application/json",
      "user-agent": this.#userAgent,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(username === undefined ? {} : { authorization: basic(username, password ?? "") }),
      ...(bytes === undefined
        ? {}
        : { "content-type": contentType, "content-length": bytes.length }),
    };
    const options: RequestOptions = {
      method,
      agent,
      headers,
      ...(signal === undefined ? {} : { signal }),
    };
    const done = this.#begin?.(method);
    const sentBytes = bytes?.length ?? 0;
    let answered = false;
    return new Promise((resolve, reject) => {
      const outgoing = httpsRequest(server + path, options, (answer) => {
        const { statusCode: code } = answer;
        answered = true;
        if (code === 401) credentials?.forget();
        const length = answer.headers["content-length"];
        const received = length === undefined ? {} : { receivedBytes: Number(length) };
        done?.({ code, sentBytes, ...received });
        resolve(answer);
      });
      outgoing.on("error", (error) => {
        if (!answered) done?.({ code: undefined, sentBytes });
        reject(
          signal?.aborted ? signal.reason : new TransportError(error.message, { cause: error }),
        );
      });
      outgoing.end(bytes);
    });
  }
}

/** The connections of one identity: watches stay open and must not take those that requests need. */
interface Agents {
  readonly requests: Agent;
  readonly watches: Agent;
  readonly certificate: string | undefined;
  end(): void;
}

function agentsFor(
  { ca, serverName, insecure }: Connection,
  cert: string | undefined,
  key: string | undefined,
): Agents {
  const tls: AgentOptions = {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(serverName === undefined ? {} : { servername: serverName }),
    rejectUnauthorized: insecure !== true,
  };
  const pooled: AgentOptions = { keepAlive: true, maxSockets: SOCKETS_MAX, scheduling: "lifo" };
  const requests = new Agent({ ...tls, ...pooled });
  const watches = new Agent({ ...tls, maxSockets: WATCHES_MAX });
  const end = (): void => {
    requests.destroy();
    watches.destroy();
  };
  return { requests, watches, certificate: cert, end };
}

function withQuery(path: string, query: Readonly<Record<string, string>> = {}): string {
  const text = new URLSearchParams(query).toString();
  return text === "" ? path : `${path}?${text}`;
}

function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of answer) chunks.push(chunk as Buffer);
  } catch (error) {
    throw new TransportError("the answer broke off", { cause: error });
  }
  return Buffer.concat(chunks).toString("utf8");
}

function resultOf(answer: IncomingMessage, text: string): Result<unknown> {
  const { statusCode: code = 0, headers } = answer;
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // plain text: /readyz and the like
  }
  if (code >= 200 && code < 300) return success(body);
  const status = statusFrom(code, body);
  const retryAfterSeconds = Number(headers["retry-after"] ?? Number.NaN);
  if (!Number.isInteger(retryAfterSeconds) || status.details?.retryAfterSeconds !== undefined)
    return failure(status);
  return failure({ ...status, details: { ...status.details, retryAfterSeconds } });
}

async function* linesOf(answer: IncomingMessage): AsyncGenerator<string> {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      const last = chunk.subarray(start, end);
      const line = pending.length === 0 ? last : Buffer.concat([...pending, last]);
      pending = [];
      pendingBytes = 0;
      start = end + 1;
      if (line.length > 0) yield line.toString("utf8");
    }
    if (start < chunk.length) {
      pending.push(chunk.subarray(start));
      pendingBytes += chunk.length - start;
      if (pendingBytes > LINE_BYTES_MAX) throw new Error("a watch event is too large");
    }
  }
}
