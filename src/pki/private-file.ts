/**
 * Files that are replaced as a whole: a reader sees the old or the new text. Private ones can be read
 * by their owner only, public ones by all.
 */
import {
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from "node:fs";
import { codeOf } from "#lib/caught.ts";

/** Undefined if there is no such file; any other fault throws with the file's name in it. */
export function readPrivateFile(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** `durable` waits for the disk: for what could not be made again. */
export function writePrivateFile(file: string, text: string, durable = false): void {
  write(file, text, 0o600, durable);
}

export function writePublicFile(file: string, text: string, durable = false): void {
  write(file, text, 0o644, durable);
}

function write(file: string, text: string, mode: number, durable: boolean): void {
  const unfinished = `${file}.new`;
  const descriptor = openSync(unfinished, "w", mode);
  try {
    fchmodSync(descriptor, mode); // whatever the umask says
    writeSync(descriptor, text);
    if (durable) fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(unfinished, file);
}
