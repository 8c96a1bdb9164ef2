/** `k8ts down`: ends the cluster that `k8ts up` runs on a data directory, and waits until it has. */
import { Command as Parser } from "commander";
import { codeOf } from "#lib/caught.ts";
import { isAlive } from "#lib/process-identity.ts";
import { systemClock } from "#lib/system-clock.ts";
import type { Command } from "../command.ts";
import { parseFlags } from "../flags/parse-flags.ts";
import { defaultDataDir } from "./default-data-dir.ts";
import { runningProcess } from "./pid-file.ts";

const WAIT_MAX_MS = 10_000;
const LOOK_EVERY_MS = 20;

export const downCommand: Command = {
  name: "down",
  summary: "end the cluster that `up` runs",
  run: async (args, signal) => {
    const parser = new Parser("k8ts down").option(
      "--data <dir>",
      "its data directory",
      defaultDataDir(),
    );
    const parsed = parseFlags(parser, args, (flags) => String(flags.data));
    if ("exitCode" in parsed) return parsed.exitCode;
    const running = runningProcess(parsed.config);
    if (running === undefined) return refuse(`nothing runs on ${parsed.config}`);
    try {
      process.kill(running.pid, "SIGTERM");
    } catch (error) {
      const code = codeOf(error);
      if (code === "EPERM") return refuse(`process ${running.pid} belongs to another user`);
      if (code !== "ESRCH") throw error; // it has just ended
    }
    const deadlineMs = systemClock.elapsedMs() + WAIT_MAX_MS;
    while (isAlive(running)) {
      if (systemClock.elapsedMs() > deadlineMs) {
        return refuse(`process ${running.pid} does not end`);
      }
      await systemClock.sleep(LOOK_EVERY_MS, signal);
    }
    return 0;
  },
};

function refuse(why: string): number {
  process.stderr.write(`k8ts down: ${why}\n`);
  return 1;
}
