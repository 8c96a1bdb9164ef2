/** How much is logged, and in which form: the same flags for every command. */
import type { Command as Parser } from "commander";
import { goQuote } from "#api/meta/go-quote.ts";
import { integer } from "./flag-values.ts";
import { FlagError } from "./parse-flags.ts";

export interface LogFlags {
  readonly logLevel: "debug" | "info";
  readonly logFormat: "text" | "json";
}

/** As they were parsed. */
export interface GivenLogFlags {
  readonly v: number;
  readonly loggingFormat: string;
}

/** From here on upstream has a line for each request. */
const DEBUG_FROM = 3;

export function addLogFlags(parser: Parser): Parser {
  return parser
    .option("-v, --v <level>", "how much to log", integer, 0)
    .option("--logging-format <format>", "text or json", "text");
}

export function logFlagsOf({ v, loggingFormat }: GivenLogFlags): LogFlags {
  if (loggingFormat !== "text" && loggingFormat !== "json") {
    const given = goQuote(loggingFormat);
    throw new FlagError(`format: Invalid value: ${given}: Unsupported log format`);
  }
  return { logLevel: v >= DEBUG_FROM ? "debug" : "info", logFormat: loggingFormat };
}
