/**
 * Makes a directory that only its owner can enter, and its parents, step by step: the recursive form of
 * Node's mkdir does not end on paths where no directory can be made.
 */
import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { codeOf } from "./caught.ts";

/** Existing directories stay as they are. `path` is absolute. */
export function makePrivateDirectory(path: string): void {
  make(path, 0o700);
}

function make(path: string, mode: number): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return;
  if (found !== undefined) throw new Error("there is something else");
  const parent = dirname(path);
  if (parent !== path) make(parent, 0o777);
  try {
    mkdirSync(path, mode);
  } catch (error) {
    // Another process may have been faster.
    if (codeOf(error) !== "EEXIST") throw error;
  }
}
