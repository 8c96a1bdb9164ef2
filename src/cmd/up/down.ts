/**
 * `k8ts down`: ends the cluster that `k8ts up` runs on a data directory, waits until it has, and removes
 * what a process that was killed left on the machine. With `--purge` nothing remains: the data directory
 * and the entries in the user's kubeconfig go, too.
 */
import { resolve } from "node:path";
import { Command as Parser } from "commander";
import { removeTree } from "#host/files.ts";
import { unmountBelow } from "#host/mounts.ts";
import { codeOf } from "#lib/caught.ts";
import { isAlive, type ProcessIdentity } from "#lib/process-identity.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import type { Command } from "../command.ts";
import { processSurroundings } from "../component/process-surroundings.ts";
import { parseFlags } from "../flags/parse-flags.ts";
import { defaultDataDir } from "./default-data-dir.ts";
import { removeFromUserKubeconfig, userKubeconfigFile } from "./kubeconfig/user-kubeconfig.ts";
import { hasLeftoverNodes, removeLeftoverNodes } from "./nodes/leftover-nodes.ts";
import { runningProcess } from "./pid-file.ts";

/** Pods on several nodes end at the same time, on a machine that may be busy. */
const WAIT_MAX_MS = 60_000;
const LOOK_EVERY_MS = 20;

interface DownFlags {
  readonly dataDir: string;
  readonly purge: boolean;
}

export const downCommand: Command = {
  name: "down",
  summary: "end the cluster that `up` runs",
  flags: () => downParser().options,
  run: async (args, signal) => {
    const parser = downParser();
    const parsed = parseFlags(parser, args, (flags) => ({
      dataDir: resolve(String(flags.data)),
      purge: flags.purge === true,
    }));
    if ("exitCode" in parsed) return parsed.exitCode;
    return await down(parsed.config, signal);
  },
};

function downParser(): Parser {
  return new Parser("k8ts down")
    .description("Ends the cluster that `k8ts up` runs, with its pods.")
    .option("--data <dir>", "its data directory", defaultDataDir())
    .option("--purge", "remove its data, its context in your kubeconfig and all other traces")
    .addHelpText("after", "\nExamples:\n  k8ts down\n  k8ts down --data ./cluster --purge");
}

async function down({ dataDir, purge }: DownFlags, signal: AbortSignal): Promise<number> {
  const running = runningProcess(dataDir);
  if (running === undefined && !purge && !(await hasLeftoverNodes(dataDir))) {
    return refuse(`nothing runs on ${dataDir}`);
  }
  if (running !== undefined) {
    const why = await end(running, signal);
    if (why !== undefined) return refuse(why);
  }
  const surroundings = processSurroundings({ logLevel: "info", logFormat: "text" });
  await removeLeftoverNodes(dataDir, surroundings, signal);
  if (!purge) return 0;
  const user = { file: userKubeconfigFile(process.env), clock: systemClock };
  const removed = await removeFromUserKubeconfig(user, dataDir, signal);
  await unmountBelow(dataDir);
  await removeTree(dataDir);
  return removed.ok ? 0 : refuse(`the context stays in your kubeconfig: ${removed.why}`);
}

/** A reason if it cannot be ended. */
async function end(running: ProcessIdentity, signal: AbortSignal): Promise<string | undefined> {
  try {
    process.kill(running.pid, "SIGTERM");
  } catch (error) {
    const code = codeOf(error);
    if (code === "EPERM") return `process ${running.pid} belongs to another user`;
    if (code !== "ESRCH") throw error; // it has just ended
  }
  const deadlineMs = systemClock.elapsedMs() + WAIT_MAX_MS;
  while (isAlive(running)) {
    if (systemClock.elapsedMs() > deadlineMs) return `process ${running.pid} does not end`;
    await systemClock.sleep(LOOK_EVERY_MS, signal);
  }
  return undefined;
}

function refuse(why: string): number {
  process.stderr.write(`k8ts down: ${why}\n`);
  return 1;
}
