/** Reports syntax errors with the texts of ANTLR, the generator of cel-go's parser. */
import type { Faults } from "./faults.ts";
import { LimitReached, REPORTS_MAX } from "./limits.ts";
import { locationOf, NO_LOCATION, type Source } from "./source.ts";
import { nameOf, type Token } from "./tokens.ts";

export class SyntaxFaults {
  readonly #source: Source;
  readonly #faults: Faults;
  #count = 0;

  constructor(source: Source, faults: Faults) {
    this.#source = source;
    this.#faults = faults;
  }

  /** Throws LimitReached where there are too many. */
  report(message: string, { offset }: Token): void {
    const location = locationOf(this.#source, offset);
    if (this.#count >= REPORTS_MAX) {
      this.#faults.add(location, `Syntax error: More than ${REPORTS_MAX} syntax errors`);
      throw new LimitReached();
    }
    this.#count++;
    this.#faults.add(location, `Syntax error: ${readableReservedWord(message)}`);
  }

  /** Reports a limit that has no place in the text, and ends the parsing. */
  giveUp(message: string): never {
    this.#faults.add(NO_LOCATION, message);
    throw new LimitReached();
  }
}

export function showText(text: string): string {
  return `'${text.replaceAll("\t", "\\t").replaceAll("\n", "\\n").replaceAll("\r", "\\r")}'`;
}

export function showKinds(kinds: ReadonlySet<number>): string {
  const names = [...kinds].sort((a, b) => a - b).map(nameOf);
  return names.length === 1 ? names[0]! : `{${names.join(", ")}}`;
}

const RESERVED_WORD = /no viable alternative at input '.(true|false|null)'/g;

/** A literal's name where a field's was expected gets the text that older versions gave. */
function readableReservedWord(message: string): string {
  return message.replaceAll(RESERVED_WORD, "mismatched input '$1' expecting IDENTIFIER");
}
