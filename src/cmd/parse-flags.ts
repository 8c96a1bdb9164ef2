/** Reads a command's flags. What is wrong with them is said in one line, and nothing has happened. */
import { CommanderError, type Command as Parser } from "commander";

/** A flag that cannot be understood; the message is for the person who typed it. */
export class FlagError extends Error {
  override readonly name = "FlagError";
}

export function parseFlags<Config>(
  parser: Parser,
  args: readonly string[],
  read: (flags: Readonly<Record<string, unknown>>) => Config,
): { readonly config: Config } | { readonly exitCode: number } {
  parser.exitOverride().allowExcessArguments(false);
  try {
    parser.parse([...args], { from: "user" });
    return { config: read(parser.opts()) };
  } catch (error) {
    if (error instanceof CommanderError) return { exitCode: error.exitCode };
    if (!(error instanceof FlagError)) throw error;
    process.stderr.write(`${parser.name()}: ${error.message}\n`);
    return { exitCode: 2 };
  }
}
