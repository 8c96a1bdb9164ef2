/**
 * `k8ts up` without `--foreground`: starts the cluster as a process of its own session and ends when it is
 * ready. The entry of the program calls it before the server side is loaded, so it imports little.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, fstatSync, openSync, readdirSync, readSync, rmdirSync, rmSync } from "node:fs";
import { basename, dirname } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { messageOf } from "#lib/caught.ts";
import { runningProcess } from "../pid-file.ts";
import { type OpenLog, openLog } from "./log-file.ts";
import { PROGRESS_VARIABLE, type Progress, parseProgress } from "./progress.ts";
import { componentLine, nextSteps } from "./progress-text.ts";

/** What is shown of the log when the start fails. */
const TAIL_BYTES_MAX = 8_192;

export interface BackgroundStart {
  readonly dataDir: string;
  /** The arguments of `up`. */
  readonly args: readonly string[];
}

/** Returns the exit code of the command. */
export async function startInBackground(
  { dataDir, args }: BackgroundStart,
  signal: AbortSignal,
): Promise<number> {
  const running = runningProcess(dataDir);
  if (running !== undefined) {
    return refuse(
      `a cluster runs on ${dataDir} already (process ${running.pid}): \`k8ts status\` shows it, \`k8ts down\` ends it`,
    );
  }
  const isNew = !existsSync(dataDir);
  let log: OpenLog;
  try {
    log = openLog(dataDir);
  } catch (error) {
    return refuse(`--data ${JSON.stringify(dataDir)} cannot be used: ${messageOf(error)}`);
  }
  const child = spawn(
    process.execPath,
    [...process.execArgv, process.argv[1]!, "up", "--foreground", ...args],
    {
      detached: true,
      stdio: ["ignore", log.descriptor, log.descriptor, "pipe"],
      env: { ...process.env, [PROGRESS_VARIABLE]: "3" },
    },
  );
  const stop = (): void => void child.kill("SIGTERM");
  signal.addEventListener("abort", stop, { once: true });
  const exitCode = await untilReadyOrEnd(child);
  if (exitCode === "ready") {
    child.unref();
    return 0;
  }
  process.stderr.write(tailOf(log));
  if (isNew) removeUnused(dataDir, log);
  if (signal.aborted) return 130;
  return exitCode === 0 || exitCode === null ? 1 : exitCode;
}

function untilReadyOrEnd(child: ChildProcess): Promise<number | null | "ready"> {
  return new Promise((resolvePromise, reject) => {
    child.once("error", reject);
    child.once("exit", resolvePromise);
    createInterface(child.stdio[3] as Readable).on("line", (line) => {
      const progress = parseProgress(line);
      if (progress === undefined) return;
      show(progress);
      if (progress.type === "ready") resolvePromise("ready");
    });
  });
}

function show(progress: Progress): void {
  if (progress.type === "component") process.stdout.write(componentLine(progress));
  else if (progress.type === "note") process.stderr.write(`k8ts: ${progress.text}\n`);
  else {
    const tookMs = Math.round(process.uptime() * 1000);
    process.stdout.write(nextSteps(progress, { tookMs, path: process.env.PATH ?? "" }));
  }
}

/** The end of what this start has written. */
function tailOf({ file, startBytes }: OpenLog): string {
  const descriptor = openSync(file, "r");
  const { size } = fstatSync(descriptor);
  const start = Math.max(startBytes, size - TAIL_BYTES_MAX);
  const buffer = Buffer.alloc(Math.max(0, size - start));
  const length = readSync(descriptor, buffer, 0, buffer.length, start);
  return buffer.toString("utf8", 0, length);
}

/** A start that failed before it made anything leaves nothing behind. */
function removeUnused(dataDir: string, { file }: OpenLog): void {
  const logs = dirname(file);
  if (readdirSync(dataDir).some((name) => name !== basename(logs))) return;
  rmSync(file);
  rmdirSync(logs);
  rmdirSync(dataDir);
}

function refuse(why: string): number {
  process.stderr.write(`Error: ${why}\n`);
  return 1;
}
