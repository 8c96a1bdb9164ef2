/** Requests to an API server in this process, encoded and answered as over HTTP but without a socket. */
import type { HttpRequest, Reply } from "#apiserver/http/exchange.ts";
import { serve } from "#apiserver/http/serve.ts";
import type { User } from "#apiserver/request/request.ts";
import type { ApiServer } from "#apiserver/server.ts";

const ADMIN: User = { name: "admin", groups: ["system:masters", "system:authenticated"] };

export interface Sent {
  readonly accept?: string;
  readonly contentType?: string;
  /** Objects are sent as JSON. */
  readonly body?: object | Uint8Array | string;
}

export interface Received {
  readonly code: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly bytes: Buffer;
}

/** One request and its whole answer. */
export async function ask(
  api: ApiServer,
  method: string,
  url: string,
  sent: Sent = {},
): Promise<Received> {
  const collected = collect();
  await serve(api, requestOf(method, url, sent, new AbortController().signal), collected.reply);
  return collected.received();
}

/** The lines of a watch until the signal aborts. */
export function watchLines(
  api: ApiServer,
  url: string,
  onLine: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const { reply } = collect((bytes) => {
    for (const line of bytes.toString().split("\n")) if (line !== "") onLine(line);
  });
  return serve(api, requestOf("GET", url, {}, signal), reply);
}

function requestOf(method: string, url: string, sent: Sent, signal: AbortSignal): HttpRequest {
  const { accept, contentType, body } = sent;
  const bytes = bytesOf(body);
  const headers = {
    ...(accept === undefined ? {} : { accept }),
    ...(body === undefined ? {} : { "content-type": contentType ?? "application/json" }),
  };
  return {
    method,
    url,
    headers,
    rawHeaders: Object.entries(headers).flat(),
    peer: { address: "127.0.0.1", user: ADMIN },
    signal,
    gone: false,
    auditId: undefined,
    authenticated: () => undefined,
    onGone: () => undefined,
    readBody: async () => bytes,
    bodyStream: undefined as never, // only proxies read it
  };
}

function bytesOf(body: Sent["body"]): Uint8Array {
  if (body === undefined) return new Uint8Array(0);
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}

function collect(onBytes?: (bytes: Buffer) => void): { reply: Reply; received(): Received } {
  let code = 0;
  let headers: Received["headers"] = {};
  const chunks: Buffer[] = [];
  const take = (bytes: Uint8Array): boolean => {
    if (onBytes === undefined) chunks.push(Buffer.from(bytes));
    else onBytes(Buffer.from(bytes));
    return true;
  };
  const start = (sentCode: number, sentHeaders: Received["headers"]): void => {
    code = sentCode;
    headers = sentHeaders;
  };
  const reply: Reply = {
    send: (sentCode, sentHeaders, bytes) => {
      start(sentCode, sentHeaders);
      take(bytes);
    },
    start,
    write: take,
    writeChunk: ({ bytes }) => take(bytes),
    drained: async () => undefined,
    end: () => undefined,
    destroy: () => undefined,
    started: false,
    gone: false,
  };
  return { reply, received: () => ({ code, headers, bytes: Buffer.concat(chunks) }) };
}
