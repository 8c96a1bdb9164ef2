/**
 * A transport over HTTPS: for requests kept-alive HTTP/1.1 connections, or one HTTP/2 connection if
 * asked for and offered by the server; one connection a watch. Answers are JSON; a watch is a stream
 * of JSON lines.
 */
import type { IncomingMessage } from "node:http";
import { request as httpsRequest, type RequestOptions } from "node:https";
import { failure, type Result, success } from "#api/meta/status.ts";
import { statusFrom } from "#api/meta/status-from.ts";
import type { Clock } from "#lib/time/clock.ts";
import { AuthenticatedAgents, type ConnectionUse } from "./authenticated-agents.ts";
import { Http1Required, type Http2Answer, Http2Requests } from "./http2-requests.ts";
import type { Connection } from "./kubeconfig.ts";
import { parseMetadata } from "./parse-metadata.ts";
import { readLines } from "./read-lines.ts";
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

export interface HttpsTransportOptions {
  /** Sends requests over HTTP/2, for components with many of them. By the clock it is kept alive. */
  readonly http2?: { readonly clock: Clock };
}

export class HttpsTransport implements Transport, Disposable {
  readonly #connection: Connection;
  readonly #userAgent: string;
  readonly #begin: BeginRequest | undefined;
  readonly #agents: AuthenticatedAgents;
  #http2: Http2Requests | undefined;

  constructor(
    connection: Connection,
    userAgent: string,
    begin?: BeginRequest,
    { http2 }: HttpsTransportOptions = {},
  ) {
    this.#connection = connection;
    this.#userAgent = userAgent;
    this.#begin = begin;
    this.#agents = new AuthenticatedAgents(connection);
    if (http2 !== undefined && connection.server.startsWith("https:")) {
      this.#http2 = new Http2Requests(connection.server, userAgent, http2.clock);
    }
  }

  [Symbol.dispose](): void {
    this.#http2?.[Symbol.dispose]();
    this.#agents[Symbol.dispose]();
  }

  async send(call: Call, signal?: AbortSignal): Promise<Result<unknown>> {
    const contentType =
      call.patchType === undefined ? "application/json" : PATCH_MEDIA_TYPES[call.patchType];
    const path = withQuery(pathOf(call), call.query);
    const bytes = bytesOf(call.body);
    const method = METHODS[call.verb];
    if (this.#http2 !== undefined) {
      const answer = await this.#overHttp2(this.#http2, method, path, bytes, contentType, signal);
      if (answer !== undefined) return resultOf(answer, answer.text, call.answer);
    }
    const answer = await this.#request(method, path, bytes, contentType, "requests", signal);
    return resultOf(answerOf(answer), await textOf(answer), call.answer);
  }

  async raw(path: string, signal?: AbortSignal): Promise<Result<unknown>> {
    const answer = await this.#request("GET", path, undefined, "", "requests", signal);
    return resultOf(answerOf(answer), await textOf(answer));
  }

  async *watch(call: WatchCall, signal: AbortSignal): AsyncGenerator<readonly WatchEvent[]> {
    const path = withQuery(pathOf(call), call.query);
    const answer = await this.#request("GET", path, undefined, "", "watches", signal);
    if (answer.statusCode !== 200) {
      const { statusCode = 0 } = answer;
      const result = resultOf(answerOf(answer), await textOf(answer));
      const unexpected = `unexpected answer ${statusCode} to a watch`;
      const object = result.ok ? statusFrom(statusCode, unexpected) : result.status;
      yield [{ type: "ERROR", object }];
      return;
    }
    try {
      for await (const lines of readLines(answer as AsyncIterable<Buffer>)) {
        yield lines.map((line) => JSON.parse(line) as WatchEvent);
      }
    } catch (error) {
      if (signal.aborted) return;
      throw new TransportError("the watch broke off", { cause: error });
    } finally {
      answer.destroy();
    }
  }

  /** Undefined if the server has no HTTP/2. */
  async #overHttp2(
    http2: Http2Requests,
    method: string,
    path: string,
    body: Buffer | undefined,
    contentType: string,
    signal: AbortSignal | undefined,
  ): Promise<Http2Answer | undefined> {
    const { tls, authorization } = await this.#agents.prepare("requests");
    const done = this.#begin?.(method);
    const sentBytes = body?.length ?? 0;
    try {
      const answer = await http2.send(
        { method, path, body, contentType, authorization, tls },
        signal,
      );
      const { code, receivedBytes } = answer;
      done?.({ code, sentBytes, receivedBytes });
      if (code === 401) this.#agents.refused();
      return answer;
    } catch (error) {
      if (error instanceof Http1Required) {
        this.#http2 = undefined;
        return undefined;
      }
      done?.({ code: undefined, sentBytes });
      throw error;
    }
  }

  async #request(
    method: string,
    path: string,
    bytes: Buffer | undefined,
    contentType: string,
    use: ConnectionUse,
    signal: AbortSignal | undefined,
  ): Promise<IncomingMessage> {
    const { server } = this.#connection;
    const { agent, authorization } = await this.#agents.prepare(use);
    const headers: Record<string, string | number> = {
      accept: "application/json",
      "user-agent": this.#userAgent,
      ...(authorization === undefined ? {} : { authorization }),
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
        if (code === 401) this.#agents.refused();
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

function withQuery(path: string, query: Readonly<Record<string, string>> = {}): string {
  const text = new URLSearchParams(query).toString();
  return text === "" ? path : `${path}?${text}`;
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

interface AnswerHead {
  readonly code: number;
  readonly retryAfter: string | undefined;
}

function answerOf({ statusCode, headers }: IncomingMessage): AnswerHead {
  return { code: statusCode ?? 0, retryAfter: headers["retry-after"] };
}

function bytesOf(body: unknown): Buffer | undefined {
  return body === undefined ? undefined : Buffer.from(JSON.stringify(body));
}

function resultOf(
  { code, retryAfter }: AnswerHead,
  text: string,
  wanted?: Call["answer"],
): Result<unknown> {
  const isSuccess = code >= 200 && code < 300;
  if (isSuccess && wanted === "nothing") return success(undefined);
  const metadataOnly = isSuccess && wanted === "metadata" ? parseMetadata(text) : undefined;
  if (metadataOnly !== undefined) return success(metadataOnly);
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // plain text: /readyz and the like
  }
  if (isSuccess) return success(body);
  const status = statusFrom(code, body);
  const retryAfterSeconds = Number(retryAfter ?? Number.NaN);
  if (!Number.isInteger(retryAfterSeconds) || status.details?.retryAfterSeconds !== undefined)
    return failure(status);
  return failure({ ...status, details: { ...status.details, retryAfterSeconds } });
}
