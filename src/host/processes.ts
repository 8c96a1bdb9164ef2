/** Processes of the machine, from /proc. */
import { readdir, writeFile } from "node:fs/promises";
import { codeOf } from "#lib/caught.ts";
import type { Clock } from "#lib/time/clock.ts";
import { readTextIfPresent } from "./files.ts";

export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  /** The program and its arguments. */
  readonly words: readonly string[];
}

const LOOK_EVERY_MS = 20;

/** How likely the kernel is to kill this process when memory runs out: -1000 to 1000. */
export async function setOwnOomScore(score: number): Promise<void> {
  await writeFile("/proc/self/oom_score_adj", String(score));
}

/** Those that have ended and were not waited for are left out. */
export async function listProcesses(): Promise<readonly ProcessEntry[]> {
  const pids = (await readdir("/proc")).map(Number).filter(Number.isSafeInteger);
  const found = await Promise.all(pids.map(readProcess));
  return found.filter((entry) => entry !== undefined);
}

/** These and all that they started, directly or not. */
export function withDescendants(
  roots: readonly ProcessEntry[],
  all: readonly ProcessEntry[],
): readonly ProcessEntry[] {
  const members = new Map(roots.map((entry) => [entry.pid, entry]));
  // A map that grows while it is walked hands out the new members, too.
  for (const pid of members.keys()) {
    for (const entry of all) if (entry.parent === pid) members.set(entry.pid, entry);
  }
  return [...members.values()];
}

/** Kills them and waits until they are gone, but not longer than the timeout. */
export async function killProcesses(
  entries: readonly ProcessEntry[],
  timeoutMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  for (const { pid } of entries) {
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      if (codeOf(error) !== "ESRCH") throw error;
    }
  }
  const endMs = clock.elapsedMs() + timeoutMs;
  const pids = new Set(entries.map(({ pid }) => pid));
  while (clock.elapsedMs() < endMs) {
    if (!(await listProcesses()).some(({ pid }) => pids.has(pid))) return;
    await clock.sleep(LOOK_EVERY_MS, signal);
  }
}

async function readProcess(pid: number): Promise<ProcessEntry | undefined> {
  try {
    const stat = (await readTextIfPresent(`/proc/${pid}/stat`)) ?? "";
    const command = (await readTextIfPresent(`/proc/${pid}/cmdline`)) ?? "";
    // The name, in parentheses, may itself hold spaces and parentheses.
    const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (parent === undefined || state === "Z") return undefined;
    return { pid, parent: Number(parent), words: command.split("\0").slice(0, -1) };
  } catch (error) {
    if (codeOf(error) === "ESRCH") return undefined; // it has just ended
    throw error;
  }
}
