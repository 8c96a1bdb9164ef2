/** Gives each argument to the parser that knows its flag; unknown ones go to the first. */
import type { Option, Command as Parser } from "commander";

export function splitFlags(args: readonly string[], parsers: readonly Parser[]): string[][] {
  const parts: string[][] = parsers.map(() => []);
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    const owner = Math.max(
      0,
      parsers.findIndex((parser) => optionOf(parser, arg) !== undefined),
    );
    parts[owner]!.push(arg);
    const next = args[at + 1];
    const option = optionOf(parsers[owner]!, arg);
    if (option === undefined || next === undefined || arg.includes("=")) continue;
    if (option.required || (option.optional && !next.startsWith("-"))) {
      parts[owner]!.push(next);
      at += 1;
    }
  }
  return parts;
}

function optionOf(parser: Parser, arg: string): Option | undefined {
  const name = arg.split("=", 1)[0]!;
  if (!name.startsWith("-")) return undefined;
  return parser.options.find(({ long, short }) => long === name || short === name);
}
