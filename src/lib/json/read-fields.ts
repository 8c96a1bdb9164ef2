/**
 * Reads some fields of JSON text and skips all others, several times as fast as parsing the whole: for a
 * reader that needs a little of each of many objects.
 *
 * The text must be valid JSON: what is skipped is not checked. Keys have to be written without escapes to be
 * found, as every encoder writes the names of API fields.
 */

import type { FieldTree } from "./field-tree.ts";

/** Reads text after text; what is not an object or array is read whole. */
export function createFieldReader(tree: FieldTree): (text: Buffer) => unknown {
  const wanted = compile(tree);
  return (text) => {
    if (wanted === undefined) return JSON.parse(text.toString("utf8"));
    const reader = new FieldReader(text);
    return reader.read(wanted);
  };
}

interface Wanted {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Undefined for the whole value. */
  readonly fields: readonly Wanted[] | undefined;
}

function compile(tree: FieldTree): readonly Wanted[] | undefined {
  if (tree === true) return undefined;
  return Object.entries(tree).map(([name, below]) => ({
    ...{ name, bytes: Buffer.from(name), fields: compile(below) },
  }));
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACKET = 0x5d;
const CLOSE_BRACE = 0x7d;
const SPACE = 0x20;

class FieldReader {
  readonly #text: Buffer;
  /** The next byte that was not read. */
  #at = 0;

  constructor(text: Buffer) {
    this.#text = text;
  }

  read(fields: readonly Wanted[] | undefined): unknown {
    const first = this.#pastSpace();
    if (fields === undefined) return this.#whole();
    if (first === OPEN_BRACE) return this.#object(fields);
    if (first === OPEN_BRACKET) return this.#array(fields);
    return this.#whole();
  }

  #object(fields: readonly Wanted[]): Record<string, unknown> {
    const found: Record<string, unknown> = {};
    this.#at += 1;
    while (this.#pastSpace() !== CLOSE_BRACE) {
      const start = this.#at + 1;
      this.#skipString();
      const field = this.#named(fields, start, this.#at - 1);
      this.#pastSpace();
      this.#at += 1; // the colon
      if (field === undefined) this.#skip();
      else found[field.name] = this.read(field.fields);
      if (this.#pastSpace() === COMMA) this.#at += 1;
    }
    this.#at += 1;
    return found;
  }

  #array(fields: readonly Wanted[]): unknown[] {
    const elements: unknown[] = [];
    this.#at += 1;
    while (this.#pastSpace() !== CLOSE_BRACKET) {
      elements.push(this.read(fields));
      if (this.#pastSpace() === COMMA) this.#at += 1;
    }
    this.#at += 1;
    return elements;
  }

  #whole(): unknown {
    const start = this.#at;
    const text = this.#text;
    if (text[start] === QUOTE && !this.#skipString()) {
      return text.toString("utf8", start + 1, this.#at - 1);
    }
    this.#at = start;
    this.#skip();
    return JSON.parse(text.toString("utf8", start, this.#at));
  }

  #named(fields: readonly Wanted[], start: number, end: number): Wanted | undefined {
    const text = this.#text;
    search: for (const field of fields) {
      const { bytes } = field;
      if (bytes.length !== end - start) continue;
      for (let i = 0; i < bytes.length; i++) if (bytes[i] !== text[start + i]) continue search;
      return field;
    }
    return undefined;
  }

  /** Past one value, and the space before it. */
  #skip(): void {
    const text = this.#text;
    const first = this.#pastSpace();
    if (first === QUOTE) {
      this.#skipString();
      return;
    }
    if (first !== OPEN_BRACE && first !== OPEN_BRACKET) {
      this.#skipWord();
      return;
    }
    const { length } = text;
    let depth = 0;
    for (let i = this.#at; i < length; i++) {
      const c = text[i]!;
      if (c === QUOTE) {
        while (++i < length && text[i] !== QUOTE) if (text[i] === BACKSLASH) i++;
      } else if (c === OPEN_BRACE || c === OPEN_BRACKET) {
        depth++;
      } else if (c === CLOSE_BRACE || c === CLOSE_BRACKET) {
        if (--depth > 0) continue;
        this.#at = i + 1;
        return;
      }
    }
    throw endsEarly();
  }

  /** Whether the string has a backslash. */
  #skipString(): boolean {
    const text = this.#text;
    const { length } = text;
    let hasBackslash = false;
    for (let i = this.#at + 1; i < length; i++) {
      const c = text[i]!;
      if (c === QUOTE) {
        this.#at = i + 1;
        return hasBackslash;
      }
      if (c !== BACKSLASH) continue;
      hasBackslash = true;
      i++;
    }
    throw endsEarly();
  }

  /** A number, true, false or null: up to what cannot be part of it. */
  #skipWord(): void {
    const text = this.#text;
    const { length } = text;
    let i = this.#at;
    while (i < length) {
      const c = text[i]!;
      if (c === COMMA || c === CLOSE_BRACE || c === CLOSE_BRACKET || c <= SPACE) break;
      i++;
    }
    if (i === this.#at) throw new SyntaxError(`no JSON value at byte ${i}`);
    this.#at = i;
  }

  /** The first byte that is no space. */
  #pastSpace(): number {
    const text = this.#text;
    let c = text[this.#at];
    while (c !== undefined && c <= SPACE) c = text[++this.#at];
    if (c === undefined) throw endsEarly();
    return c;
  }
}

function endsEarly(): SyntaxError {
  return new SyntaxError("the JSON text ends early");
}
