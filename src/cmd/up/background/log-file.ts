/**
 * `DIR/logs/k8ts.log`: what a cluster in the background writes to stdout and stderr.
 *
 * Promises:
 * 1. The process has the file open for appending as its stdout and stderr, so that even the last words of
 *    a crash are in it.
 * 2. Together with the files before it (`k8ts.log.1` is the youngest) it is bounded: a file that has grown
 *    beyond FILE_BYTES_MAX is copied and emptied, and the oldest copy goes.
 */
import {
  copyFileSync,
  existsSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { makePrivateDirectory } from "#lib/make-private-directory.ts";

/** A copy of this size is made in a few milliseconds. */
export const FILE_BYTES_MAX = 4 * 1024 * 1024;
const OLD_FILES_MAX = 4;

export function logFileOf(dataDir: string): string {
  return join(dataDir, "logs", "k8ts.log");
}

/** The files that are there, oldest first. */
export function logFilesOf(dataDir: string): readonly string[] {
  const file = logFileOf(dataDir);
  const numbers = Array.from({ length: OLD_FILES_MAX }, (_, index) => OLD_FILES_MAX - index);
  const files = [...numbers.map((number) => `${file}.${number}`), file];
  return files.filter((path) => existsSync(path));
}

export interface OpenLog {
  readonly descriptor: number;
  readonly file: string;
  /** Where the lines of this start begin. */
  readonly startBytes: number;
}

export function openLog(dataDir: string): OpenLog {
  makePrivateDirectory(resolve(dataDir));
  makePrivateDirectory(resolve(dataDir, "logs"));
  const file = logFileOf(dataDir);
  rotateIfLarge(file);
  const descriptor = openSync(file, "a", 0o600);
  return { descriptor, file, startBytes: statSync(file).size };
}

/** Counts what is written through it, and rotates the file when that is enough. */
export function boundedLogWriter(
  dataDir: string,
  write: (line: string) => void,
): (line: string) => void {
  const file = logFileOf(dataDir);
  let bytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return (line) => {
    write(line);
    bytes += Buffer.byteLength(line);
    if (bytes <= FILE_BYTES_MAX) return;
    try {
      rotateIfLarge(file);
    } catch {
      // No space for a copy: the lines are given up, not the bound.
      truncateSync(file);
    }
    bytes = 0;
  };
}

function rotateIfLarge(file: string): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= FILE_BYTES_MAX) return;
  rmSync(`${file}.${OLD_FILES_MAX}`, { force: true });
  for (let number = OLD_FILES_MAX - 1; number >= 1; number--) {
    if (existsSync(`${file}.${number}`)) renameSync(`${file}.${number}`, `${file}.${number + 1}`);
  }
  copyFileSync(file, `${file}.1`);
  truncateSync(file);
}
