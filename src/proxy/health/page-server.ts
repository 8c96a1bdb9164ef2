/** A small HTTP server for health and metrics: GET only, few connections, ends with the signal. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onAbort } from "#lib/async/aborted.ts";
import { limitServer } from "#lib/http/limit-server.ts";

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
  const server = createServer((request, reply) => {
    const [path = "/"] = (request.url ?? "/").split("?", 1);
    const { code, body, headers } = page(path) ?? NOT_FOUND;
    reply.writeHead(code, { "x-content-type-options": "nosniff", ...headers });
    reply.end(request.method === "HEAD" ? undefined : body);
  });
  limitServer(server);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  onAbort(signal, () => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

export function textPage(body: string): Page {
  return { code: 200, body, headers: { "content-type": "text/plain; charset=utf-8" } };
}

const NOT_FOUND: Page = { ...textPage("404 page not found\n"), code: 404 };
