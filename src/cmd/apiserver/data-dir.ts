/**
 * The directory of --data-dir, made step by step: Node's own way never ends where none can be made.
 * Only its owner can enter a new one.
 */
import { accessSync, constants, mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { goQuote } from "#api/meta/go-quote.ts";
import { codeOf, messageOf } from "#lib/caught.ts";
import { FlagError } from "../flags/parse-flags.ts";

/** Throws FlagError, which says why, where nothing can be kept. */
export function makeDataDir(directory: string): void {
  const path = resolve(directory);
  try {
    make(path, true);
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    const why = messageOf(error);
    throw new FlagError(`--data-dir ${goQuote(directory)} cannot be used: ${why}`);
  }
}

function make(path: string, isDataDir = false): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return;
  if (found !== undefined) throw new Error("there is something else");
  const parent = dirname(path);
  if (parent !== path) make(parent);
  try {
    mkdirSync(path, isDataDir ? 0o700 : 0o777);
  } catch (error) {
    // Another process may have been faster.
    if (codeOf(error) !== "EEXIST") throw error;
  }
}
