/** The kubelet's health over plain HTTP, for what watches over it on the same machine. */
import type { KubeletConfig } from "#kubelet/kubelet-config.ts";
import { messageOf } from "#lib/caught.ts";
import { startHttpServer } from "#lib/http/start-http-server.ts";
import type { Logger } from "#lib/logger.ts";

const LIMITS = { connectionsMax: 64, headersWithinMs: 10_000, requestWithinMs: 10_000 };

/** Lives until the signal aborts. A port that is taken is logged: the kubelet works without. */
export async function runHealthz(
  { healthzPort: port, healthzAddress: host }: KubeletConfig,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  if (port === 0) return;
  try {
    await startHttpServer(
      {
        ...{ at: { host, port }, limits: LIMITS },
        request: ({ url }, reply) => {
          const isHealth = /^\/healthz(\/|\?|$)/.test(url ?? "");
          reply.writeHead(isHealth ? 200 : 404, { "content-type": "text/plain; charset=utf-8" });
          reply.end(isHealth ? "ok" : "404 page not found\n");
        },
      },
      signal,
    );
  } catch (error) {
    logger.error("Failed to start healthz server", { why: messageOf(error) });
  }
}
