/** /metrics in Prometheus' text format, and /metrics/slis with the state of the health checks. */
import { gzipSync } from "node:zlib";
import type { Metrics } from "#lib/metrics.ts";
import type { HealthChecks } from "../health/health-paths.ts";
import type { PathHandler } from "../request/handler.ts";
import type { ApiRequest } from "../request/request.ts";
import { type Answer, answer } from "../response/answer.ts";

const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

export interface MetricsPathOptions {
  readonly metrics: Metrics;
  readonly checks: HealthChecks;
  /** What is counted of the checks. */
  readonly checkCounts: Metrics;
  readonly startSeconds: number;
}

export function metricsPath(options: MetricsPathOptions): PathHandler {
  const { metrics, checks, checkCounts, startSeconds } = options;
  const textAnswer = (text: string, { headers }: ApiRequest): Answer => {
    const zips = ZIPS.test(headers["accept-encoding"] ?? "");
    const bytes = zips ? gzipSync(text, { level: 1 }) : Buffer.from(text);
    return answer(
      200,
      { form: "bytes", contentType: CONTENT_TYPE, bytes },
      {
        headers: {
          "process-start-time-unix": String(Math.floor(startSeconds)),
          ...(zips ? { "content-encoding": "gzip" } : {}),
        },
      },
    );
  };
  return (request) => {
    if (request.path === "/metrics") return textAnswer(metrics.text(), request);
    if (request.path !== "/metrics/slis") return undefined;
    return states(checks).then((text) => textAnswer(`${text}${checkCounts.text()}`, request));
  };
}

const ZIPS = /(^|,)\s*gzip\s*(,|$|;(?!\s*q=0(\.0*)?\s*(,|$)))/;

async function states(checks: HealthChecks): Promise<string> {
  const lines: string[] = [];
  for (const [type, list] of Object.entries(checks)) {
    for (const { name, check } of list as HealthChecks["readyz"]) {
      const well = (await check()) === undefined;
      lines.push(`kubernetes_healthcheck{name="${name}",type="${type}"} ${well ? 1 : 0}\n`);
    }
  }
  const help = "# HELP kubernetes_healthcheck The result of each health check, 1 if it is well.\n";
  return `${help}# TYPE kubernetes_healthcheck gauge\n${lines.sort().join("")}`;
}
