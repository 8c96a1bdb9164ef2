/**
 * Label selectors: the text of queries (`app=web,tier in (a,b),!old`), the LabelSelector of objects,
 * and what either of them selects.
 *
 * Promises:
 * 1. The grammar and the words of every error are those that clients know.
 * 2. Requirements are in the order of their keys; `formatSelector` reads back as the same selector.
 */
import type { LabelSelector } from "#api/generated/meta.v1.ts";
import { type FieldError, invalid } from "#api/validation/field-error.ts";
import { formatFieldErrors } from "#api/validation/format-field-error.ts";
import { isLabelValue, isQualifiedName } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { goQuote } from "./go-quote.ts";

export type LabelOperator = "in" | "notin" | "=" | "==" | "!=" | "gt" | "lt" | "exists" | "!";

export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

/** All requirements must hold; none at all selects everything. */
export type Selector = readonly LabelRequirement[] | "nothing";

export type ParsedSelector =
  | { readonly ok: true; readonly value: Selector }
  | { readonly ok: false; readonly error: string };

export type Labels = Readonly<Record<string, string>>;

export const EVERYTHING: Selector = Object.freeze([]);

export function parseSelector(text: string): ParsedSelector {
  try {
    return { ok: true, value: inOrder(new Parser(text).parse()) };
  } catch (error) {
    if (error instanceof SelectorError) return { ok: false, error: error.message };
    throw error;
  }
}

/** What a LabelSelector means: absent selects nothing, an empty one everything. */
export function selectorOf(selector: LabelSelector | undefined): ParsedSelector {
  if (selector === undefined) return { ok: true, value: "nothing" };
  try {
    const { matchLabels = {}, matchExpressions } = selector;
    const requirements = Object.entries(matchLabels).map(([key, value]) =>
      requirement(key, "=", [value]),
    );
    for (const { key, operator, values } of matchExpressions ?? []) {
      const known = EXPRESSION_OPERATORS.get(operator);
      if (known === undefined) {
        throw new SelectorError(`${goQuote(operator)} is not a valid label selector operator`);
      }
      requirements.push(requirement(key, known, values ?? []));
    }
    return { ok: true, value: inOrder(requirements) };
  } catch (error) {
    if (error instanceof SelectorError) return { ok: false, error: error.message };
    throw error;
  }
}

/** Selects what carries all these labels, which were checked before. */
export function selectorFromLabels(labels: Labels): Selector {
  const entries = Object.entries(labels);
  return inOrder(entries.map(([key, value]) => ({ key, operator: "=", values: [value] })));
}

export function formatSelector(selector: Selector): string {
  return selector === "nothing" ? "" : selector.map(formatRequirement).join(",");
}

export function matchesLabels(selector: Selector, labels: Labels | undefined): boolean {
  if (selector === "nothing") return false;
  for (const one of selector) if (!holds(one, labels)) return false;
  return true;
}

class SelectorError extends Error {}

const EXPRESSION_OPERATORS: ReadonlyMap<string, LabelOperator> = new Map([
  ["In", "in"],
  ["NotIn", "notin"],
  ["Exists", "exists"],
  ["DoesNotExist", "!"],
]);

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

function holds({ key, operator, values }: LabelRequirement, labels: Labels | undefined): boolean {
  const value: unknown = labels?.[key];
  const has = typeof value === "string"; // what an object inherits is no label
  switch (operator) {
    case "in":
    case "=":
    case "==":
      return has && values.includes(value);
    case "notin":
    case "!=":
      return !(has && values.includes(value));
    case "exists":
      return has;
    case "!":
      return !has;
    case "gt":
    case "lt": {
      if (!has) return false;
      const [actual, limit] = [parseInt64(value), parseInt64(values[0] ?? "")];
      if (actual === undefined || limit === undefined) return false;
      return operator === "gt" ? actual > limit : actual < limit;
    }
  }
}

function formatRequirement({ key, operator, values }: LabelRequirement): string {
  if (operator === "exists") return key;
  if (operator === "!") return `!${key}`;
  const list = [...values].sort().join(",");
  if (operator === "in" || operator === "notin") return `${key} ${operator} (${list})`;
  const sign = operator === "gt" ? ">" : operator === "lt" ? "<" : operator;
  return `${key}${sign}${list}`;
}

function inOrder(requirements: readonly LabelRequirement[]): readonly LabelRequirement[] {
  return requirements.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
}

/** Checks key, number of values and each value, and says all that is wrong. */
function requirement(
  key: string,
  operator: LabelOperator,
  values: readonly string[],
): LabelRequirement {
  const at = Path.of("values");
  const errors = [
    ...keyErrors(key, Path.of("key")),
    ...countErrors(operator, values, at),
    ...values.flatMap((value, i) => {
      const faults = isLabelValue(value);
      return faults.length === 0 ? [] : [invalid(at.index(i).key(key), value, faults.join("; "))];
    }),
  ];
  if (errors.length > 0) throw new SelectorError(formatFieldErrors(errors));
  return { key, operator, values };
}

function keyErrors(key: string, path: Path): FieldError[] {
  const faults = isQualifiedName(key);
  return faults.length === 0 ? [] : [invalid(path, key, faults.join("; "))];
}

function countErrors(operator: LabelOperator, values: readonly string[], at: Path): FieldError[] {
  const shown = values.length === 0 ? undefined : values; // an empty list prints as null
  switch (operator) {
    case "in":
    case "notin":
      if (values.length > 0) return [];
      return [invalid(at, shown, "for 'in', 'notin' operators, values set can't be empty")];
    case "exists":
    case "!":
      if (values.length === 0) return [];
      return [invalid(at, shown, "values set must be empty for exists and does not exist")];
    case "gt":
    case "lt":
      return values.flatMap((value, i) =>
        parseInt64(value) !== undefined
          ? []
          : [invalid(at.index(i), value, "for 'Gt', 'Lt' operators, the value must be an integer")],
      );
    default:
      return [];
  }
}

function parseInt64(text: string): bigint | undefined {
  if (!/^[-+]?[0-9]{1,30}$/.test(text)) return undefined;
  const value = BigInt(text.startsWith("+") ? text.slice(1) : text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

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
