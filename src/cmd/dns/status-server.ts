/** `/metrics`, `/health` and `/ready` over HTTP, on the ports and with the words of CoreDNS. */
import { type HttpServerOptions, startHttpServer } from "#lib/http/start-http-server.ts";
import type { Metrics } from "#lib/metrics.ts";

export interface StatusPorts {
  readonly addresses: readonly string[];
  /** 0: not served. */
  readonly metricsPort: number;
  readonly healthPort: number;
  readonly readyPort: number;
}

export interface StatusSource {
  readonly metrics: Metrics;
  isReady(): boolean;
}

type Page = () => readonly [code: number, text: string];

/** Resolves when all listen; they end with the signal. */
export async function startStatusServers(
  { addresses, metricsPort, healthPort, readyPort }: StatusPorts,
  { metrics, isReady }: StatusSource,
  signal: AbortSignal,
): Promise<void> {
  const pages: readonly (readonly [port: number, path: string, page: Page])[] = [
    [metricsPort, "/metrics", () => [200, metrics.text()]],
    [healthPort, "/health", () => [200, "OK"]],
    [readyPort, "/ready", () => (isReady() ? [200, "OK"] : [503, "kubernetes"])],
  ];
  const wanted = pages.filter(([port]) => port !== 0);
  await Promise.all(
    wanted.flatMap(([port, path, page]) =>
      addresses.map((address) => serve({ address, port, path, page }, signal)),
    ),
  );
}

interface Served {
  readonly address: string;
  readonly port: number;
  readonly path: string;
  readonly page: Page;
}

async function serve({ address, port, path, page }: Served, signal: AbortSignal): Promise<void> {
  const at = { host: address, port };
  const request: HttpServerOptions["request"] = ({ url = "/" }, reply) => {
    const [code, text] = url.split("?", 1)[0] === path ? page() : [404, "404 page not found\n"];
    reply.writeHead(code, { "content-type": "text/plain; version=0.0.4; charset=utf-8" });
    reply.end(text);
  };
  await startHttpServer({ at, request }, signal);
}
