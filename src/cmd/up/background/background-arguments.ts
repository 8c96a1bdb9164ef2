/**
 * Recognizes a start in the background by its arguments alone, before anything is loaded that could parse
 * them all. What needs more (a configuration file, help, another kind of start) is left to the command.
 */
import { defaultDataDir } from "../default-data-dir.ts";

const NOT_IN_BACKGROUND = ["--foreground", "--ephemeral", "--install-service", "--config"];
const SHOWS_TEXT = ["--help", "-h", "--version"];

/** The data directory to start on; undefined if the command has to look at the arguments. */
export function backgroundDataDir(args: readonly string[]): string | undefined {
  let dataDir = defaultDataDir();
  for (const [index, arg] of args.entries()) {
    const [name = "", ...value] = arg.split("=");
    if (NOT_IN_BACKGROUND.includes(name) || SHOWS_TEXT.includes(arg)) return undefined;
    if (name !== "--data") continue;
    const given = arg.includes("=") ? value.join("=") : args[index + 1];
    if (given === undefined || given === "") return undefined;
    dataDir = given;
  }
  return dataDir;
}
