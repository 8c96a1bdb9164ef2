/** The HTTP port on which a program of tunnels says how it is. */
import { type HttpServerOptions, startHttpServer } from "#lib/http/start-http-server.ts";
import type { Metrics } from "#lib/metrics.ts";

export interface StatusPages {
  /** /healthz and /readyz are served with it; /readyz says whether there is a way to nodes. */
  isReady?(): boolean;
  readonly metrics: Metrics;
}

export async function serveStatus(
  { host, port }: { readonly host: string; readonly port: number },
  { isReady, metrics }: StatusPages,
  signal: AbortSignal,
): Promise<void> {
  const request: HttpServerOptions["request"] = ({ url = "" }, reply) => {
    const [code, text] = answerTo(url);
    reply.writeHead(code, { "content-type": "text/plain; charset=utf-8" });
    reply.end(text);
  };
  const answerTo = (url: string): readonly [number, string] => {
    if (url === "/metrics") return [200, metrics.text()];
    if (isReady === undefined) return [404, "404 page not found\n"];
    if (url === "/healthz") return [200, "ok"];
    if (url !== "/readyz" && url !== "/ready") return [404, "404 page not found\n"];
    return isReady() ? [200, "ok"] : [500, "not ready"];
  };
  await startHttpServer({ at: { host, port }, request }, signal);
}
