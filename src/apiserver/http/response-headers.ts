/**
 * Headers that the operator adds to every response: CORS for pages of allowed origins, and
 * Strict-Transport-Security. Without such rules the handler is used as it is.
 */
import type { OutgoingHeaders } from "../response/answer.ts";
import type { HttpRequest, Reply } from "./exchange.ts";

export interface ResponseHeaderRules {
  /** Matched against the Origin header. */
  readonly allowedOrigins: readonly RegExp[];
  readonly strictTransportSecurity: readonly string[];
}

type Handle = (request: HttpRequest, reply: Reply) => Promise<void>;

const ALLOWED_METHODS = "POST, GET, OPTIONS, PUT, DELETE, PATCH";
const ALLOWED_HEADERS =
  "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since";

export function withResponseHeaders(rules: ResponseHeaderRules, handle: Handle): Handle {
  const { allowedOrigins, strictTransportSecurity } = rules;
  if (allowedOrigins.length === 0 && strictTransportSecurity.length === 0) return handle;
  const always: OutgoingHeaders =
    strictTransportSecurity.length === 0
      ? {}
      : { "strict-transport-security": strictTransportSecurity.join("; ") };
  return async (request, reply) => {
    const { origin } = request.headers;
    if (!origin || !allowedOrigins.some((allowed) => allowed.test(origin))) {
      await handle(request, new ReplyWithHeaders(reply, always));
      return;
    }
    const headers = { ...always, ...corsHeaders(origin) };
    if (request.method === "OPTIONS") reply.send(204, headers, new Uint8Array(0));
    else await handle(request, new ReplyWithHeaders(reply, headers));
  };
}

function corsHeaders(origin: string): OutgoingHeaders {
  return {
    "access-control-allow-origin": origin,
    "access-control-allow-methods": ALLOWED_METHODS,
    "access-control-allow-headers": ALLOWED_HEADERS,
    "access-control-expose-headers": "Date",
    "access-control-allow-credentials": "true",
  };
}

class ReplyWithHeaders implements Reply {
  readonly #reply: Reply;
  readonly #headers: OutgoingHeaders;

  constructor(reply: Reply, headers: OutgoingHeaders) {
    this.#reply = reply;
    this.#headers = headers;
  }

  send(code: number, headers: OutgoingHeaders, body: Uint8Array): void {
    this.#reply.send(code, { ...this.#headers, ...headers }, body);
  }

  start(code: number, headers: OutgoingHeaders): void {
    this.#reply.start(code, { ...this.#headers, ...headers });
  }

  write(bytes: Uint8Array): boolean {
    return this.#reply.write(bytes);
  }

  writeChunk(...args: Parameters<Reply["writeChunk"]>): boolean {
    return this.#reply.writeChunk(...args);
  }

  drained(): Promise<void> {
    return this.#reply.drained();
  }

  end(): void {
    this.#reply.end();
  }

  destroy(): void {
    this.#reply.destroy();
  }

  get started(): boolean {
    return this.#reply.started;
  }

  get gone(): boolean {
    return this.#reply.gone;
  }
}
