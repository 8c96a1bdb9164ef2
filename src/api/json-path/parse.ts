/**
 * JSONPath templates as kubectl and column definitions use them: text with `{…}` actions in it.
 * Errors have upstream's texts.
 */

export type JsonPathNode =
  | { readonly node: "text"; readonly text: string }
  | { readonly node: "field"; readonly name: string }
  | { readonly node: "identifier"; readonly name: string }
  | { readonly node: "number"; readonly value: number }
  | { readonly node: "bool"; readonly value: boolean }
  | { readonly node: "wildcard" }
  | { readonly node: "recursive" }
  | {
      readonly node: "slice";
      readonly start?: number;
      readonly end?: number;
      readonly step?: number;
    }
  | { readonly node: "union"; readonly paths: readonly (readonly JsonPathNode[])[] }
  | {
      readonly node: "filter";
      readonly left: readonly JsonPathNode[];
      readonly operator: string;
      readonly right: readonly JsonPathNode[];
    };

/** Plain text between actions is a path of one text node. */
export type JsonPathTemplate = readonly (readonly JsonPathNode[])[];

export type ParsedJsonPath =
  | { readonly ok: true; readonly template: JsonPathTemplate }
  | { readonly ok: false; readonly fault: string };

export function parseJsonPath(text: string): ParsedJsonPath {
  try {
    return { ok: true, template: new Parser(text).template() };
  } catch (error) {
    if (error instanceof Fault) return { ok: false, fault: error.message };
    throw error;
  }
}

class Fault extends Error {}

const TERMINATORS = new Set([" ", "\t", "\r", "\n", ".", ",", "[", "]", "$", "@", "{", "}"]);
const WORD_START = /[_\p{L}\p{Nd}]/u;
const SLICE = /^(-?\d*)(:-?\d*)?(:-?\d*)?$/;
const COMPARISON = /^([^!<>=]+)([!<>=]+)(.+?)$/;
const NESTING_MAX = 100;

class Parser {
  readonly #text: string;
  readonly #depth: number;
  #at = 0;

  constructor(text: string, depth = 0) {
    if (depth > NESTING_MAX) throw new Fault("nested too deeply");
    this.#text = text;
    this.#depth = depth;
  }

  template(): JsonPathTemplate {
    const parts: (readonly JsonPathNode[])[] = [];
    while (this.#at < this.#text.length) {
      const open = this.#text.indexOf("{", this.#at);
      const end = open < 0 ? this.#text.length : open;
      if (end > this.#at) parts.push([{ node: "text", text: this.#text.slice(this.#at, end) }]);
      this.#at = end;
      if (open < 0) break;
      this.#at++;
      parts.push(this.#action());
    }
    return parts;
  }

  /** From behind `{` to behind the matching `}`. */
  #action(): JsonPathNode[] {
    const nodes: JsonPathNode[] = [];
    for (;;) {
      const rest = this.#text.slice(this.#at, this.#at + 3);
      if (rest.startsWith("}")) {
        this.#at++;
        return nodes;
      }
      if (rest === "[?(") nodes.push(this.#filter());
      else if (rest.startsWith("..")) this.#recursive(nodes);
      else this.#step(nodes);
    }
  }

  #step(nodes: JsonPathNode[]): void {
    const char = this.#peek();
    if (char === "" || char === "\r" || char === "\n") throw new Fault("unclosed action");
    if (char === " " || char === "@" || char === "$") this.#at += char.length;
    else if (char === "[") nodes.push(...this.#array());
    else if (char === '"' || char === "'") nodes.push(this.#quoted(char));
    else if (char === ".") {
      this.#at++;
      nodes.push(this.#field());
    } else if (/[+\-0-9]/.test(char)) nodes.push(this.#number());
    else if (WORD_START.test(char)) nodes.push(this.#identifier());
    else {
      const code = char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
      throw new Fault(`unrecognized character in action: U+${code} '${char}'`);
    }
  }

  #recursive(nodes: JsonPathNode[]): void {
    if (nodes.at(-1)?.node === "recursive") throw new Fault("invalid multiple recursive descent");
    this.#at += 2;
    nodes.push({ node: "recursive" });
    if (WORD_START.test(this.#peek())) nodes.push(this.#field());
  }

  #field(): JsonPathNode {
    const start = this.#at;
    for (let char = this.#peek(); char !== "" && !TERMINATORS.has(char); char = this.#peek()) {
      this.#at += char.length;
      if (char === "\\") this.#at += this.#peek().length;
    }
    const name = this.#text.slice(start, this.#at);
    return name === "*" ? { node: "wildcard" } : { node: "field", name: name.replaceAll("\\", "") };
  }

  #identifier(): JsonPathNode {
    const start = this.#at;
    for (let char = this.#peek(); char !== "" && !TERMINATORS.has(char); char = this.#peek()) {
      this.#at += char.length;
    }
    const name = this.#text.slice(start, this.#at);
    if (name === "true" || name === "false") return { node: "bool", value: name === "true" };
    return { node: "identifier", name };
  }

  #number(): JsonPathNode {
    const text = /[+-]?[0-9.]*/.exec(this.#text.slice(this.#at))![0];
    this.#at += text.length;
    if (!/^[+-]?(\d+\.?\d*|\.\d+)$/.test(text)) throw new Fault(`cannot parse number ${text}`);
    return { node: "number", value: Number(text) };
  }

  #quoted(quote: string): JsonPathNode {
    const start = this.#at;
    let end = start;
    do {
      end = this.#text.indexOf(quote, end + 1);
      const line = this.#text.indexOf("\n", start);
      if (end < 0 || (line >= 0 && line < end)) throw new Fault("unterminated quoted string");
    } while (this.#text[end - 1] === "\\");
    this.#at = end + 1;
    const body = this.#text.slice(start + 1, end);
    return { node: "text", text: unescapeText(body, this.#text.slice(start, this.#at)) };
  }

  #array(): JsonPathNode[] {
    const close = this.#text.indexOf("]", this.#at);
    const line = this.#text.indexOf("\n", this.#at);
    if (close < 0 || (line >= 0 && line < close)) throw new Fault("unterminated array");
    const inside = this.#text.slice(this.#at + 1, close);
    this.#at = close + 1;
    const text = inside === "*" ? ":" : inside;

    const entries = text.split(",");
    if (entries.length > 1) {
      const paths = entries.map((entry) => this.#nested(`[${entry.replace(/^ +| +$/g, "")}]`));
      return [{ node: "union", paths }];
    }
    const key = /^'([^']*)'$/.exec(text)?.[1];
    if (key !== undefined) return this.#nested(`.${key}`);
    return [sliceOf(text)];
  }

  #filter(): JsonPathNode {
    const start = this.#at + 3;
    let end = start;
    let quote = "";
    let closed = false;
    for (; ; end++) {
      const char = this.#text[end];
      if (char === undefined || char === "\n") throw new Fault("unterminated filter");
      if (char === '"' || char === "'") {
        if (quote === "") quote = char;
        else if (char === quote && this.#text[end - 1] !== "\\") closed = true;
      } else if (char === ")" && (quote !== "") === closed) break;
    }
    if (this.#text[end + 1] !== "]") throw new Fault("unclosed array expect ]");
    this.#at = end + 2;
    const text = this.#text.slice(start, end);
    const [, left, operator, right] = COMPARISON.exec(text) ?? [];
    if (left === undefined) {
      return { node: "filter", left: this.#nested(text), operator: "exists", right: [] };
    }
    return {
      node: "filter",
      left: this.#nested(left),
      operator: operator!,
      right: this.#nested(right!),
    };
  }

  #nested(text: string): JsonPathNode[] {
    const [path = []] = new Parser(`{${text}}`, this.#depth + 1).template();
    return [...path];
  }

  #peek(): string {
    const code = this.#text.codePointAt(this.#at);
    return code === undefined ? "" : String.fromCodePoint(code);
  }
}

function sliceOf(text: string): JsonPathNode {
  const match = SLICE.exec(text);
  if (match === null) throw new Fault(`invalid array index ${text}`);
  const number = (digits: string | undefined): number | undefined => {
    if (digits === undefined || digits === "") return undefined;
    if (!/^-?\d+$/.test(digits)) throw new Fault(`array index ${digits} is not a number`);
    return Number(digits);
  };
  const start = number(match[1]);
  // A single index is a slice of one.
  const end = match[2] === undefined ? (start ?? 0) + 1 : number(match[2].slice(1));
  const step = number(match[3]?.slice(1));
  return {
    node: "slice",
    ...(start === undefined ? {} : { start }),
    ...(end === undefined ? {} : { end }),
    ...(step === undefined ? {} : { step }),
  };
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
};

function unescapeText(body: string, quoted: string): string {
  const quote = quoted[0]!;
  const pattern = /\\(?:([abfnrtv\\'"])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([0-7]{3})|(.?))/gs;
  return body.replace(pattern, (whole, simple, hex2, hex4, octal) => {
    if (simple !== undefined && (ESCAPES[simple] !== undefined || simple === quote)) {
      return ESCAPES[simple] ?? simple;
    }
    const code = hex2 ?? hex4 ?? octal;
    if (code === undefined) {
      throw new Fault(`unquote string ${quoted} error invalid syntax`);
    }
    return whole === "" ? "" : String.fromCodePoint(Number.parseInt(code, octal ? 8 : 16));
  });
}
