/** The results of health checks as metrics: the state of each, and how often each was asked. */
import { Metrics } from "#lib/metrics.ts";
import type { CountCheck, HealthChecks } from "./health-paths.ts";

export interface HealthCounts {
  readonly count: CountCheck;
  /** What /metrics/slis says. */
  text(): Promise<string>;
}

export function healthCounts(checks: HealthChecks): HealthCounts {
  const metrics = new Metrics();
  const checked = metrics.counter({
    name: "kubernetes_healthchecks_total",
    help: "Health checks that were made, by their outcome.",
    labels: ["name", "type", "status"],
  });
  return {
    count: (root, name, well) => checked(name, root, well ? "success" : "error").add(1),
    text: async () => `${await states(checks)}${metrics.text()}`,
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
