/**
 * What is wrong with a text that is not JSON, in the words that clients know from Go's decoder:
 * which byte, and what stood there instead of what was wanted. Works byte by byte and without
 * recursion, so that any input is safe.
 */

import { goQuote } from "#api/meta/go-quote.ts";
import { FORGED_KEY, hasForgedKey } from "#lib/json/forged-keys.ts";

/** Text may nest so deep: unknown fields do, and are dropped. */
export const JSON_TEXT_DEPTH_MAX = 10_000;

/**
 * What is kept of a text may nest no deeper than this, since everything that walks over an object
 * calls itself once per level. It is refused by the words that clients know from the text's limit.
 */
export const JSON_DEPTH_MAX = 300;

export const TOO_DEEP = "exceeded max depth";

const UNEXPECTED_END = "unexpected end of JSON input";

/** Why a text within an object cannot be read as JSON. */
export function findTextFault(text: string): string | undefined {
  const fault = findJsonSyntaxError(new TextEncoder().encode(text));
  return fault ?? (hasForgedKey(text) ? FORGED_KEY : undefined);
}

/** The first fault of the text, or undefined if it is valid JSON. */
export function findJsonSyntaxError(
  input: Uint8Array,
  depthMax = JSON_TEXT_DEPTH_MAX,
): string | undefined {
  const scanner = new Scanner(depthMax);
  for (const byte of input) {
    const error = scanner.step(byte);
    if (error !== undefined) return `invalid character ${quoteByte(byte)} ${error}`;
  }
  if (scanner.ended) return undefined;
  // The end may only come where a space could stand.
  const error = scanner.step(SPACE);
  if (error !== undefined) return `invalid character ' ' ${error}`;
  return scanner.ended ? undefined : UNEXPECTED_END;
}

const SPACE = 0x20;
type State =
  | { readonly at: "value" | "valueOrEnd" | "key" | "keyOrEnd" | "afterValue" | "end" }
  | { readonly at: "string" | "escape" }
  | { readonly at: "hex"; readonly left: number }
  | { readonly at: "number"; readonly part: NumberPart }
  | { readonly at: "literal"; readonly word: string; readonly next: number };

type NumberPart =
  | "sign"
  | "zero"
  | "digits"
  | "dot"
  | "fraction"
  | "e"
  | "exponentSign"
  | "exponent";

const VALUE: State = { at: "value" };
const AFTER_VALUE: State = { at: "afterValue" };
const STRING: State = { at: "string" };

class Scanner {
  #state: State = VALUE;
  /** What encloses the current place, outermost first. */
  readonly #inside: ("key" | "object" | "array")[] = [];
  readonly #depthMax: number;

  constructor(depthMax: number) {
    this.#depthMax = depthMax;
  }

  get ended(): boolean {
    return this.#state.at === "end";
  }

  /** Takes one byte; returns an error as the words that follow "invalid character 'x'". */
  step(byte: number): string | undefined {
    const c = String.fromCharCode(byte);
    const state = this.#state;
    switch (state.at) {
      case "value":
        return this.#value(c);
      case "valueOrEnd":
        return c === "]" ? this.#afterValue(c) : this.#value(c);
      case "key":
        return this.#key(c);
      case "keyOrEnd":
        if (c !== "}") return this.#key(c);
        this.#inside[this.#inside.length - 1] = "object";
        return this.#afterValue(c);
      case "afterValue":
        return this.#afterValue(c);
      case "end":
        return isSpace(c) ? undefined : "after top-level value";
      case "string":
        return this.#inString(c);
      case "escape":
        return this.#escape(c);
      case "hex":
        return this.#hex(c, state.left);
      case "number":
        return this.#number(c, state.part);
      case "literal":
        return this.#literal(c, state.word, state.next);
    }
  }

  #value(c: string): string | undefined {
    if (isSpace(c)) return undefined;
    if (c === "{") return this.#open("key", { at: "keyOrEnd" });
    if (c === "[") return this.#open("array", { at: "valueOrEnd" });
    if (c === '"') this.#state = STRING;
    else if (c === "-") this.#state = { at: "number", part: "sign" };
    else if (c === "0") this.#state = { at: "number", part: "zero" };
    else if (isDigit(c)) this.#state = { at: "number", part: "digits" };
    else if (c === "t") this.#state = { at: "literal", word: "true", next: 1 };
    else if (c === "f") this.#state = { at: "literal", word: "false", next: 1 };
    else if (c === "n") this.#state = { at: "literal", word: "null", next: 1 };
    else return "looking for beginning of value";
    return undefined;
  }

  #open(inside: "key" | "array", state: State): string | undefined {
    this.#inside.push(inside);
    this.#state = state;
    return this.#inside.length > this.#depthMax ? TOO_DEEP : undefined;
  }

  #key(c: string): string | undefined {
    if (isSpace(c)) return undefined;
    if (c !== '"') return "looking for beginning of object key string";
    this.#state = STRING;
    return undefined;
  }

  #afterValue(c: string): string | undefined {
    const inside = this.#inside.at(-1);
    if (inside === undefined) {
      this.#state = { at: "end" };
      return isSpace(c) ? undefined : "after top-level value";
    }
    this.#state = AFTER_VALUE;
    if (isSpace(c)) return undefined;
    switch (inside) {
      case "key":
        if (c !== ":") return "after object key";
        this.#inside[this.#inside.length - 1] = "object";
        this.#state = VALUE;
        return undefined;
      case "object":
        if (c === "}") return this.#close();
        if (c !== ",") return "after object key:value pair";
        this.#inside[this.#inside.length - 1] = "key";
        this.#state = { at: "key" };
        return undefined;
      case "array":
        if (c === "]") return this.#close();
        if (c !== ",") return "after array element";
        this.#state = VALUE;
        return undefined;
    }
  }

  #close(): undefined {
    this.#inside.pop();
    this.#state = this.#inside.length === 0 ? { at: "end" } : AFTER_VALUE;
    return undefined;
  }

  #inString(c: string): string | undefined {
    if (c === '"') this.#state = AFTER_VALUE;
    else if (c === "\\") this.#state = { at: "escape" };
    else if (c < " ") return "in string literal";
    return undefined;
  }

  #escape(c: string): string | undefined {
    if (c === "u") this.#state = { at: "hex", left: 4 };
    else if ('bfnrt\\/"'.includes(c)) this.#state = STRING;
    else return "in string escape code";
    return undefined;
  }

  #hex(c: string, left: number): string | undefined {
    if (!/[0-9a-fA-F]/.test(c)) return "in \\u hexadecimal character escape";
    this.#state = left === 1 ? STRING : { at: "hex", left: left - 1 };
    return undefined;
  }

  #number(c: string, part: NumberPart): string | undefined {
    const next = nextNumberPart(part, c);
    if (next !== undefined) {
      this.#state = { at: "number", part: next };
      return undefined;
    }
    return NUMBER_FAULTS[part] ?? this.#afterValue(c);
  }

  #literal(c: string, word: string, next: number): string | undefined {
    if (c !== word[next]) return `in literal ${word} (expecting '${word[next]}')`;
    this.#state = next + 1 === word.length ? AFTER_VALUE : { at: "literal", word, next: next + 1 };
    return undefined;
  }
}

/** What is said when a number breaks off in a part that cannot be its last. */
const NUMBER_FAULTS: Partial<Readonly<Record<NumberPart, string>>> = {
  sign: "in numeric literal",
  dot: "after decimal point in numeric literal",
  e: "in exponent of numeric literal",
  exponentSign: "in exponent of numeric literal",
};

function nextNumberPart(part: NumberPart, c: string): NumberPart | undefined {
  const digit = isDigit(c);
  switch (part) {
    case "sign":
      return c === "0" ? "zero" : digit ? "digits" : undefined;
    case "zero":
    case "digits":
      if (digit && part === "digits") return "digits";
      return c === "." ? "dot" : c === "e" || c === "E" ? "e" : undefined;
    case "dot":
      return digit ? "fraction" : undefined;
    case "fraction":
      return digit ? "fraction" : c === "e" || c === "E" ? "e" : undefined;
    case "e":
      return c === "+" || c === "-" ? "exponentSign" : digit ? "exponent" : undefined;
    case "exponentSign":
    case "exponent":
      return digit ? "exponent" : undefined;
  }
}

function isSpace(c: string): boolean {
  return c === " " || c === "\t" || c === "\r" || c === "\n";
}

function isDigit(c: string): boolean {
  return c >= "0" && c <= "9";
}

function quoteByte(byte: number): string {
  if (byte === 0x27) return "'\\''";
  if (byte === 0x22) return "'\"'";
  return `'${goQuote(String.fromCharCode(byte)).slice(1, -1)}'`;
}
