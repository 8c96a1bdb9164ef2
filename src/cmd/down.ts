/** `k8ts down`: ends the cluster that `k8ts up` runs on a data directory, and waits until it has. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Command as Parser } from "commander";
import { systemClock } from "#lib/system-clock.ts";
import type { Command } from "./command.ts";
import { parseFlags } from "./parse-flags.ts";
import { defaultDataDir, PID_FILE } from "./up.ts";

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
    const file = join(parsed.config, PID_FILE);
    const pid = pidIn(file);
    if (pid === undefined || !isAlive(pid)) {
      rmSync(file, { force: true });
      process.stderr.write(`k8ts down: nothing runs on ${parsed.config}\n`);
      return 1;
    }
    process.kill(pid, "SIGTERM");
    const deadlineMs = systemClock.elapsedMs() + WAIT_MAX_MS;
    while (isAlive(pid)) {
      if (systemClock.elapsedMs() > deadlineMs) {
        process.stderr.write(`k8ts down: process ${pid} does not end\n`);
        return 1;
      }
      await systemClock.sleep(LOOK_EVERY_MS, signal);
    }
    return 0;
  },
};

function pidIn(file: string): number | undefined {
  try {
    const pid = Number(readFileSync(file, "utf8").trim());
    return Number.isInteger(pid) && pid > 1 ? pid : undefined;
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return !isZombie(pid);
}

/** Ended, but its parent has not asked for its exit code yet. */
function isZombie(pid: number): boolean {
  try {
    return /^\d+ \(.*\) Z /s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
