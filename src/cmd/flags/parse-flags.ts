/**
 * Reads a command's flags. What is wrong with them is said in one line, in upstream's words, and
 * nothing has happened.
 */
import { CommanderError, InvalidArgumentError, type Command as Parser } from "commander";
import { goQuote } from "#api/meta/go-quote.ts";
import { KUBERNETES_VERSION } from "#api/meta/kubernetes-version.ts";

/** A flag that cannot be understood; the message is for the person who typed it. */
export class FlagError extends Error {
  override readonly name = "FlagError";
}

/** What is wrong with the value of one flag; for the functions that read such values. */
export function badValue(why: string): Error {
  return new InvalidArgumentError(why);
}

export function parseFlags<Config>(
  parser: Parser,
  args: readonly string[],
  read: (flags: Readonly<Record<string, unknown>>) => Config,
): { readonly config: Config } | { readonly exitCode: number } {
  try {
    parseArguments(parser, args);
    return { config: read(parser.opts()) };
  } catch (error) {
    return { exitCode: refuseFlags(error) };
  }
}

/** Throws FlagError for what is wrong, and commander's own error when help was shown. */
export function parseArguments(parser: Parser, args: readonly string[]): Parser {
  // Set here as well, because only options that are added later inherit it.
  parser.exitOverride().configureOutput({ outputError: () => undefined });
  try {
    return parser.parse([...args], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError) || error.exitCode === 0) throw error;
    throw new FlagError(wordsOf(error, parser));
  }
}

/** --version, as every component of upstream has it. */
export function addVersionFlag(parser: Parser): Parser {
  return parser.version(`Kubernetes ${KUBERNETES_VERSION}`, "--version", "print the version");
}

/** Prints what is wrong; returns the exit code. */
export function refuseFlags(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode; // help was asked for
  if (!(error instanceof FlagError)) throw error;
  process.stderr.write(`Error: ${error.message}\n`);
  return 1;
}

function wordsOf({ code, message }: CommanderError, parser: Parser): string {
  const flag = /'(-[^'= ]*)/.exec(message)?.[1] ?? "";
  switch (code) {
    case "commander.unknownOption": {
      if (!flag.startsWith("--")) return `unknown shorthand flag: '${flag[1] ?? ""}' in ${flag}`;
      const meant = /\(Did you mean (.*)\?\)$/s.exec(message)?.[1];
      return `unknown flag: ${flag}${meant === undefined ? "" : ` (did you mean ${meant}?)`}`;
    }
    case "commander.optionMissingArgument":
      return `flag needs an argument: ${flag}`;
    case "commander.excessArguments": {
      const got = parser.args.map(goQuote).join(" ");
      return `${goQuote(parser.name())} does not take any arguments, got [${got}]`;
    }
    case "commander.invalidArgument": {
      const [, value = "", why = ""] = /argument '(.*)' is invalid\. (.*)$/s.exec(message) ?? [];
      return `invalid argument ${goQuote(value)} for "${flag}" flag: ${why}`;
    }
    default:
      return message.replace(/^error: /, "");
  }
}
