/** /metrics in Prometheus' text format, and /metrics/slis with the state of the health checks. */
import type { Metrics } from "#lib/metrics.ts";
import { type Answer, answer } from "../answer.ts";
import type { PathHandler } from "../handler.ts";
import type { HealthChecks } from "./health-paths.ts";

const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

export function metricsPath(
  metrics: Metrics,
  checks: HealthChecks,
  startSeconds: number,
): PathHandler {
  const told = (text: string): Answer =>
    answer(
      200,
      { form: "bytes", contentType: CONTENT_TYPE, bytes: Buffer.from(text) },
      { headers: { "process-start-time-unix": String(Math.floor(startSeconds)) } },
    );
  return ({ path }) => {
    if (path === "/metrics") return told(metrics.text());
    return path === "/metrics/slis" ? states(checks).then(told) : undefined;
  };
}

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
