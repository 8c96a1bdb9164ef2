/** A small HTTP server for health and metrics: GET only, few connections, ends with the signal. */
import { type HttpServerOptions, startHttpServer } from "#lib/http/start-http-server.ts";

export interface Page {
  readonly code: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface PageServerOptions {
  readonly host: string;
  readonly port: number;
  /** Undefined: 404. */
  page(path: string): Page | undefined;
}

/** Answers the port when it listens. */
export async function startPageServer(
  { host, port, page }: PageServerOptions,
  signal: AbortSignal,
): Promise<number> {
  const request: HttpServerOptions["request"] = ({ method, url = "/" }, reply) => {
    const [path = "/"] = url.split("?", 1);
    const { code, body, headers } = page(path) ?? NOT_FOUND;
    reply.writeHead(code, { "x-content-type-options": "nosniff", ...headers });
    reply.end(method === "HEAD" ? undefined : body);
  };
  const server = await startHttpServer({ at: { host, port }, request }, signal);
  return server.port;
}

export function textPage(body: string): Page {
  return { code: 200, body, headers: { "content-type": "text/plain; charset=utf-8" } };
}

const NOT_FOUND: Page = { ...textPage("404 page not found\n"), code: 404 };
