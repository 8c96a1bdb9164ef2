/** `k8ts status`: whether a cluster runs on a data directory, and how it does. */
import { resolve } from "node:path";
import { Command as Parser } from "commander";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import type { Command } from "../../command.ts";
import { addOutputFlag } from "../../flags/output-flag.ts";
import { parseFlags } from "../../flags/parse-flags.ts";
import { defaultDataDir } from "../default-data-dir.ts";
import { type ClusterStatus, readClusterStatus } from "./cluster-status.ts";

/** As `systemctl status` ends for a unit that does not run. */
const NOT_RUNNING = 3;

export const statusCommand: Command = {
  name: "status",
  summary: "show whether the cluster runs, its components and nodes",
  flags: () => statusParser().options,
  run: async (args, signal) => {
    const parsed = parseFlags(statusParser(), args, ({ data, output }) => ({
      dataDir: resolve(String(data)),
      output,
    }));
    if ("exitCode" in parsed) return parsed.exitCode;
    const { dataDir, output } = parsed.config;
    const surroundings = { clock: systemClock, random: systemRandom };
    const status = await readClusterStatus(dataDir, surroundings, signal);
    process.stdout.write(
      output === "json" ? `${JSON.stringify(status, undefined, 2)}\n` : statusText(status),
    );
    if (status.state === "stopped") return NOT_RUNNING;
    return status.state === "running" && isWell(status) ? 0 : 1;
  },
};

function statusParser(): Parser {
  const parser = new Parser("k8ts status")
    .description(
      "Shows whether a cluster runs. Exit code 0: it runs and is well, 1: something is wrong, 3: it does not run.",
    )
    .option("--data <dir>", "its data directory", defaultDataDir())
    .addHelpText("after", "\nExamples:\n  k8ts status\n  k8ts status --output json");
  return addOutputFlag(parser);
}

function isWell({ components = [], nodes, manifestFaults = [] }: ClusterStatus): boolean {
  const allReady = (nodes?.ready ?? 0) === (nodes?.total ?? 0);
  return components.every(({ healthy }) => healthy) && allReady && manifestFaults.length === 0;
}

function statusText({ dataDir, ...status }: ClusterStatus): string {
  const lines: (readonly [string, string])[] = [
    ["cluster", status.pid === undefined ? "not running" : `running, process ${status.pid}`],
    ["data", dataDir],
  ];
  if (status.server !== undefined) lines.push(["server", status.server]);
  if (status.dashboard !== undefined) lines.push(["dashboard", status.dashboard]);
  if (status.problem !== undefined) lines.push(["problem", status.problem]);
  for (const { name, healthy, message } of status.components ?? []) {
    lines.push([name, healthy ? "healthy" : `unhealthy: ${message}`]);
  }
  for (const fault of status.manifestFaults ?? []) lines.push(["manifest", fault]);
  if (status.nodes !== undefined) {
    lines.push(["nodes", `${status.nodes.ready} of ${status.nodes.total} ready`]);
  }
  if (status.pods !== undefined) lines.push(["pods", String(status.pods)]);
  const width = Math.max(...lines.map(([name]) => name.length)) + 2;
  return lines.map(([name, value]) => `${name.padEnd(width)}${value}\n`).join("");
}
