/** The directory of --data-dir. Only its owner can enter a new one. */
import { accessSync, constants } from "node:fs";
import { resolve } from "node:path";
import { goQuote } from "#api/meta/go-quote.ts";
import { messageOf } from "#lib/caught.ts";
import { makePrivateDirectory } from "#lib/make-private-directory.ts";
import { FlagError } from "../flags/parse-flags.ts";

/** Throws FlagError, which says why, where nothing can be kept. */
export function makeDataDir(directory: string): void {
  const path = resolve(directory);
  try {
    makePrivateDirectory(path);
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    const why = messageOf(error);
    throw new FlagError(`--data-dir ${goQuote(directory)} cannot be used: ${why}`);
  }
}
