/**
 * Writes JSON values as YAML in the form that kubectl and the API server give it: keys sorted with
 * numbers in their natural order, list items not indented, texts plain where no reader could take
 * them for anything else, lines broken behind column 80.
 */
import { looksLikeTimeOrBase60, resolveYamlScalar } from "./yaml-scalars.ts";

const INDENT = 2;
const LINE_WIDTH = 80;

export function writeYaml(value: unknown): string {
  const writer = new Writer();
  writer.node(value, 0, false);
  return writer.finish();
}

class Writer {
  readonly #lines: string[] = [];
  /** The line that is being written. */
  #line = "";

  finish(): string {
    return `${this.#lines.join("\n")}\n`;
  }

  /** Writes behind `key:` or `-`, or at the start; ends the line. */
  node(value: unknown, indent: number, isMember: boolean): void {
    if (Array.isArray(value)) this.#sequence(value, indent, isMember);
    else if (typeof value === "object" && value !== null) {
      this.#mapping(value as Record<string, unknown>, indent, isMember);
    } else {
      this.#scalar(value, indent + INDENT);
    }
  }

  #endLine(): void {
    this.#lines.push(this.#line);
    this.#line = "";
  }

  #sequence(items: readonly unknown[], indent: number, isMember: boolean): void {
    if (items.length === 0) {
      this.#inline("[]");
      return;
    }
    if (isMember) this.#endLine();
    for (const [i, item] of items.entries()) {
      if (i > 0 || isMember) this.#line += " ".repeat(indent);
      this.#line += "-";
      this.#item(item, indent + INDENT);
    }
  }

  /** The first line of a list item stands behind its dash. */
  #item(item: unknown, indent: number): void {
    if (isCollection(item)) {
      this.#line += " ";
      this.node(item, indent, false);
    } else {
      this.#scalar(item, indent);
    }
  }

  #mapping(members: Record<string, unknown>, indent: number, isMember: boolean): void {
    const keys = Object.keys(members).filter((key) => members[key] !== undefined);
    if (keys.length === 0) {
      this.#inline("{}");
      return;
    }
    if (isMember) this.#endLine();
    for (const [i, key] of inNaturalOrder(keys).entries()) {
      if (i > 0 || isMember) this.#line += " ".repeat(indent);
      this.#key(key);
      const value = members[key];
      const nested = Array.isArray(value) ? indent : indent + INDENT;
      if (isCollection(value)) this.node(value, nested, true);
      else this.#scalar(value, indent + INDENT);
    }
  }

  #key(key: string): void {
    const shown = key.includes("\n") ? doubleQuoted(key) : styled(key);
    if (shown.length <= KEY_LENGTH_MAX) {
      this.#line += `${shown}:`;
      return;
    }
    this.#line += `? ${shown}`;
    this.#endLine();
    this.#line = ":";
  }

  /** Ends the line with a text, which may itself have several lines. */
  #inline(text: string): void {
    if (this.#line !== "" && !this.#line.endsWith(" ")) this.#line += " ";
    this.#line += text;
    this.#endLine();
  }

  #scalar(value: unknown, indent: number): void {
    if (typeof value === "string" && value.includes("\n") && isBlockAllowed(value)) {
      this.#inline(literal(value, indent).slice(0, -1));
      return;
    }
    const shown = typeof value === "string" ? styled(value) : scalarText(value);
    this.#inline(folded(shown, this.#line.length + 1, indent));
  }
}

/** Longer keys do not stand on one line with their value. */
const KEY_LENGTH_MAX = 128;

function isCollection(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

function scalarText(value: unknown): string {
  if (Array.isArray(value)) return "[]";
  if (typeof value === "object" && value !== null) return "{}";
  return typeof value === "number" && !Number.isInteger(value) ? floatText(value) : String(value);
}

/** As Go prints a float when left to choose: an exponent from 10^21 and below 10^-4. */
function floatText(value: number): string {
  const [mantissa = "", exponentText = "0"] = value.toExponential().split("e");
  const exponent = Number(exponentText);
  if (exponent >= -4 && exponent < 21) return String(value);
  const digits = String(Math.abs(exponent)).padStart(2, "0");
  return `${mantissa}e${exponent < 0 ? "-" : "+"}${digits}`;
}

function styled(text: string): string {
  const isAmbiguous =
    resolveYamlScalar(text) !== text || looksLikeTimeOrBase60(text) || text === "<<";
  if (isAmbiguous || HAS_SPECIAL.test(text) || text.includes("\n")) return doubleQuoted(text);
  return isPlainAllowed(text) ? text : `'${text.replaceAll("'", "''")}'`;
}

/** Not printable, or a byte order mark. */
const HAS_SPECIAL =
  /[^\t\n\x20-\x7e\x85\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]|\t/u;
const STARTS_BADLY = /^(?:[#,[\]{}&*!|>'"%@`]|[?:-](?:\s|$)|---|\.\.\.)/;
const BREAKS_INSIDE = /:(?:\s|$)|\s#|^\s|\s$/;

function isPlainAllowed(text: string): boolean {
  return !STARTS_BADLY.test(text) && !BREAKS_INSIDE.test(text);
}

/** A block keeps every character but cannot show special ones, nor spaces before a line break. */
function isBlockAllowed(text: string): boolean {
  return !HAS_SPECIAL.test(text) && !/ (?:\n|$)/.test(text);
}

function literal(text: string, indent: number): string {
  const hint = /^[ \n]/.test(text) ? String(INDENT) : "";
  const chomping = !text.endsWith("\n") ? "-" : text === "\n" || text.endsWith("\n\n") ? "+" : "";
  const lines = (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
  const body = lines.map((line) => (line === "" ? "" : " ".repeat(indent) + line));
  return `|${hint}${chomping}\n${body.join("\n")}\n`;
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["\0", "\\0"],
  ["\x07", "\\a"],
  ["\b", "\\b"],
  ["\t", "\\t"],
  ["\n", "\\n"],
  ["\v", "\\v"],
  ["\f", "\\f"],
  ["\r", "\\r"],
  ["\x1b", "\\e"],
  ['"', '\\"'],
  ["\\", "\\\\"],
  ["\x85", "\\N"],
  ["\u2028", "\\L"],
  ["\u2029", "\\P"],
]);

function doubleQuoted(text: string): string {
  let out = "";
  for (const char of text) {
    const known = ESCAPES.get(char);
    if (known !== undefined) out += known;
    else if (HAS_SPECIAL.test(char)) out += numericEscape(char.codePointAt(0)!);
    else out += char;
  }
  return `"${out}"`;
}

function numericEscape(code: number): string {
  const hex = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}

/** Breaks a line at single spaces once it is longer than the width. */
function folded(shown: string, column: number, indent: number): string {
  if (column + shown.length <= LINE_WIDTH || !shown.includes(" ")) return shown;
  const isQuoted = shown.startsWith('"') || shown.startsWith("'");
  let out = "";
  for (let i = 0; i < shown.length; i++) {
    const c = shown[i]!;
    const isSingleSpace = c === " " && shown[i - 1] !== " " && shown[i + 1] !== " ";
    const isInside = !isQuoted || (i > 1 && i < shown.length - 2);
    if (isSingleSpace && isInside && column > LINE_WIDTH) {
      out += `\n${" ".repeat(indent)}`;
      column = indent;
    } else {
      out += c;
      column++;
    }
  }
  return out;
}

/** Letters after everything else, runs of digits by their value. */
function inNaturalOrder(keys: readonly string[]): string[] {
  const split = keys.map((key) => ({ key, characters: [...key] }));
  split.sort((a, b) => compareNaturally(a.characters, b.characters));
  return split.map(({ key }) => key);
}

function compareNaturally(as: readonly string[], bs: readonly string[]): number {
  const shared = Math.min(as.length, bs.length);
  for (let i = 0; i < shared; i++) {
    const [ac, bc] = [as[i]!, bs[i]!];
    if (ac === bc) continue;
    const [aLetter, bLetter] = [LETTER.test(ac), LETTER.test(bc)];
    if (aLetter !== bLetter) return aLetter ? 1 : -1;
    if (!aLetter) {
      const [an, bn] = [digitsAt(as, i), digitsAt(bs, i)];
      if (an !== bn && Number(an) !== Number(bn)) return Number(an) - Number(bn);
      if (an.length !== bn.length) return an.length - bn.length;
    }
    return ac < bc ? -1 : 1;
  }
  return as.length - bs.length;
}

const LETTER = /\p{L}/u;

/** A run of digits from here; a nonzero digit before it makes it a part of a larger number. */
function digitsAt(characters: readonly string[], from: number): string {
  let digits = "";
  if (characters[from] === "0") {
    for (let i = from - 1; i >= 0 && /\d/.test(characters[i]!); i--) {
      if (characters[i] !== "0") digits = "1";
    }
  }
  for (let i = from; i < characters.length && /\d/.test(characters[i]!); i++)
    digits += characters[i];
  return digits;
}
