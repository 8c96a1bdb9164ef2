/** Reads the text of a label selector: `app=web,tier in (a,b),!old`. */
import { isQualifiedName } from "#api/validation/names.ts";
import { goQuote } from "./go-quote.ts";
import {
  type LabelOperator,
  type LabelRequirement,
  requirement,
  SelectorError,
} from "./label-requirement.ts";

/** The requirements in the order of the text; throws SelectorError. */
export function parseRequirements(text: string): LabelRequirement[] {
  return new Parser(text).parse();
}

/** The signs of binary operators; `>` and `<` have names of their own. */
const SIGNS: ReadonlyMap<string, LabelOperator> = new Map([
  ["in", "in"],
  ["notin", "notin"],
  ["=", "="],
  ["==", "=="],
  ["!=", "!="],
  [">", "gt"],
  ["<", "lt"],
]);

interface Token {
  readonly type: "symbol" | "word" | "end";
  readonly text: string;
}

const END: Token = { type: "end", text: "" };
const NEXT_TOKEN = /[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^ \t\r\n=!(),<>]+))/y;

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = tokensOf(text);
  }

  parse(): LabelRequirement[] {
    const requirements: LabelRequirement[] = [];
    let next = this.#peek();
    if (next.type === "end") return requirements;
    if (!startsRequirement(next)) {
      throw new SelectorError(`found '${next.text}', expected: !, identifier, or 'end of string'`);
    }
    while (true) {
      requirements.push(this.#requirement());
      const after = this.#take();
      if (after.type === "end") return requirements;
      if (after.text !== ",") {
        throw new SelectorError(`found '${after.text}', expected: ',' or 'end of string'`);
      }
      next = this.#peek();
      if (!startsRequirement(next)) {
        throw new SelectorError(`found '${next.text}', expected: identifier after ','`);
      }
    }
  }

  #requirement(): LabelRequirement {
    let token = this.#take();
    const negated = token.text === "!";
    if (negated) token = this.#take();
    if (token.type !== "word")
      throw this.#unexpected(`found '${token.text}', expected: identifier`);
    const key = token.text;
    const faults = isQualifiedName(key);
    if (faults.length > 0) {
      // A selector stands nowhere in an object, so its field is nil.
      throw this.#unexpected(`<nil>: Invalid value: ${goQuote(key)}: ${faults.join("; ")}`);
    }
    if (negated) return this.#checked(key, "!", []);
    const next = this.#peek();
    if (next.type === "end" || next.text === ",") return this.#checked(key, "exists", []);

    const sign = this.#take().text;
    const operator = SIGNS.get(sign);
    if (operator === undefined) {
      throw this.#unexpected(`found '${sign}', expected: in, notin, =, ==, !=, gt, lt`);
    }
    const values =
      operator === "in" || operator === "notin" ? this.#values() : [this.#exactValue()];
    return this.#checked(key, operator, values);
  }

  #checked(key: string, operator: LabelOperator, values: readonly string[]): LabelRequirement {
    try {
      return requirement(key, operator, values);
    } catch (error) {
      if (error instanceof SelectorError) throw this.#unexpected(error.message);
      throw error;
    }
  }

  #exactValue(): string {
    const next = this.#peek();
    if (next.type === "end" || next.text === ",") return "";
    const token = this.#take();
    if (token.type === "word") return token.text;
    throw this.#unexpected(`found '${token.text}', expected: identifier`);
  }

  /** `(a,b)`; empty places count as the empty value. */
  #values(): string[] {
    const open = this.#take();
    if (open.text !== "(") throw this.#unexpected(`found '${open.text}' expected: '('`);
    const first = this.#peek();
    if (first.type !== "word" && first.text !== "," && first.text !== ")") {
      throw this.#unexpected(`found '${first.text}', expected: ',', ')' or identifier`);
    }
    const values = new Set<string>();
    let afterWord = false;
    while (true) {
      const token = this.#take();
      if (token.type === "word" && !afterWord) {
        values.add(token.text);
        afterWord = true;
      } else if (token.text === ")") {
        if (!afterWord) values.add("");
        return [...values].sort();
      } else if (token.text === ",") {
        if (!afterWord) values.add("");
        afterWord = false;
      } else {
        const expected = afterWord ? "',' or ')'" : "',', or identifier";
        throw this.#unexpected(`found '${token.text}', expected: ${expected}`);
      }
    }
  }

  #unexpected(message: string): SelectorError {
    return new SelectorError(`unable to parse requirement: ${message}`);
  }

  #peek(): Token {
    return this.#tokens[this.#at] ?? END;
  }

  #take(): Token {
    return this.#tokens[this.#at++] ?? END;
  }
}

function startsRequirement({ type, text }: Token): boolean {
  return type === "word" || text === "!";
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  NEXT_TOKEN.lastIndex = 0;
  for (let found = NEXT_TOKEN.exec(text); found !== null; found = NEXT_TOKEN.exec(text)) {
    const [, symbol, word = ""] = found;
    tokens.push(
      symbol === undefined ? { type: "word", text: word } : { type: "symbol", text: symbol },
    );
  }
  return tokens;
}
