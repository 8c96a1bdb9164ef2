/** `k8ts logs`: what a cluster in the background has written, of one component or of all. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { Command as Parser } from "commander";
import { closestWord } from "#lib/text/closest-word.ts";
import type { Command } from "../../command.ts";
import { integer } from "../../flags/flag-values.ts";
import { FlagError, parseArguments, refuseFlags } from "../../flags/parse-flags.ts";
import { logFileOf, logFilesOf } from "../background/log-file.ts";
import { defaultDataDir } from "../default-data-dir.ts";
import { followFile } from "./follow-file.ts";
import { componentsIn, linesOfComponent } from "./lines-of-component.ts";

/** The components of `k8ts up`; whatever else has logged something is known from its lines. */
const COMPONENTS = [
  ...["apiserver", "controller-manager", "scheduler", "node", "nodes", "proxy", "dns", "ingress"],
  ...["network-policy", "metrics-server", "dashboard", "manifests", "simulated-nodes", "join"],
  ...["cloud-controller-manager", "api-access", "etcd"],
];

interface LogsFlags {
  readonly data: string;
  readonly follow?: boolean;
  readonly tail?: number;
}

export const logsCommand: Command = {
  name: "logs",
  summary: "show what the cluster in the background has logged",
  flags: () => logsParser().options,
  run: async (args, signal) => {
    const parser = logsParser();
    try {
      parseArguments(parser, args);
      return await logs(parser.opts<LogsFlags>(), parser.args[0], signal);
    } catch (error) {
      return refuseFlags(error);
    }
  },
};

function logsParser(): Parser {
  return new Parser("k8ts logs")
    .description("Shows the log of a cluster that runs, or ran, in the background.")
    .argument("[component]", "only its lines: apiserver, controller-manager, scheduler, node")
    .option("-f, --follow", "go on with new lines")
    .option("--tail <lines>", "only so many of the last lines", integer)
    .option("--data <dir>", "the cluster's data directory", defaultDataDir())
    .addHelpText("after", "\nExamples:\n  k8ts logs\n  k8ts logs scheduler -f --tail 20");
}

async function logs(
  { data, follow, tail }: LogsFlags,
  component: string | undefined,
  signal: AbortSignal,
): Promise<number> {
  const dataDir = resolve(data);
  const files = logFilesOf(dataDir);
  if (files.length === 0) throw new FlagError(`there is no log in ${dataDir}`);
  const filter = linesOfComponent(component);
  const texts = files.map((file) => readFileSync(file, "utf8"));
  if (component !== undefined) checkComponent(component, componentsIn(texts));
  const kept = filter(texts.join(""));
  process.stdout.write(tail === undefined ? kept : lastLines(kept, tail));
  if (follow !== true) return 0;
  const startBytes = Buffer.byteLength(texts.at(-1) ?? "");
  const show = (text: string): void => void process.stdout.write(filter(text));
  await followFile(logFileOf(dataDir), startBytes, show, signal);
  return 0;
}

/** One that runs but has logged nothing is no mistake. */
function checkComponent(component: string, logged: ReadonlySet<string>): void {
  const known = new Set([...COMPONENTS, ...logged]);
  if (known.has(component)) return;
  const meant = closestWord(component, known);
  const hint = meant === undefined ? [...known].sort().join(", ") : `did you mean ${meant}?`;
  throw new FlagError(`there is no component ${JSON.stringify(component)}: ${hint}`);
}

function lastLines(text: string, count: number): string {
  const lines = text.split("\n").slice(0, -1);
  return lines
    .slice(Math.max(0, lines.length - count))
    .map((line) => `${line}\n`)
    .join("");
}
