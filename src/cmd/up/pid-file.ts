/**
 * `k8ts.pid` in a data directory: which process runs a cluster there. It names the process beyond its
 * number, and the directory itself, so that a copy of the directory names nothing.
 */
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive, type ProcessIdentity, thisProcess } from "#lib/process-identity.ts";

export function writePidFile(dataDir: string): void {
  const content: PidFile = { ...thisProcess(), directory: idOf(dataDir) };
  writeFileSync(fileIn(dataDir), `${JSON.stringify(content)}\n`, { mode: 0o600 });
}

/** The process that runs a cluster on this very directory. */
export function runningProcess(dataDir: string): ProcessIdentity | undefined {
  const file = read(dataDir);
  if (file === undefined || file.directory !== idOf(dataDir)) return undefined;
  return isAlive(file) ? file : undefined;
}

/** Leaves the file of another process, which took the directory over, alone. */
export function removePidFile(dataDir: string): void {
  if (read(dataDir)?.pid === process.pid) rmSync(fileIn(dataDir), { force: true });
}

interface PidFile extends ProcessIdentity {
  readonly directory: string;
}

function fileIn(dataDir: string): string {
  return join(dataDir, "k8ts.pid");
}

/** Stays the same when the directory is moved. */
function idOf(dataDir: string): string {
  const { dev, ino } = statSync(dataDir);
  return `${dev}:${ino}`;
}

function read(dataDir: string): PidFile | undefined {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(fileIn(dataDir), "utf8"));
  } catch {
    return undefined;
  }
  return isPidFile(content) ? content : undefined;
}

function isPidFile(value: unknown): value is PidFile {
  if (typeof value !== "object" || value === null) return false;
  const { pid, startedTicks, bootId, directory } = value as Partial<PidFile>;
  const texts = [startedTicks, bootId, directory];
  return Number.isSafeInteger(pid) && pid! > 1 && texts.every((text) => typeof text === "string");
}
