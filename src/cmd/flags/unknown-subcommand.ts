/** What a command says about a subcommand that it does not have: the one that was probably meant. */
import { closestWord } from "#lib/text/closest-word.ts";

/** The exit code of wrong usage. */
const WRONG_USAGE = 2;

export function refuseSubcommand(
  command: string,
  typed: string,
  known: Iterable<string>,
  usage: string,
): number {
  const meant = closestWord(typed, known);
  const hint = meant === undefined ? `\n\n${usage}` : `, did you mean ${JSON.stringify(meant)}?\n`;
  process.stderr.write(`k8ts ${command}: unknown command ${JSON.stringify(typed)}${hint}`);
  return WRONG_USAGE;
}
