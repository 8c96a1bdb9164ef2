/** `--output`: text for people, or JSON for programs. */
import type { Command as Parser } from "commander";
import { badValue } from "./parse-flags.ts";

export function addOutputFlag(parser: Parser): Parser {
  return parser.option("-o, --output <format>", "text or json", outputFormat, "text");
}

function outputFormat(value: string): string {
  if (value !== "text" && value !== "json") throw badValue("must be text or json");
  return value;
}
