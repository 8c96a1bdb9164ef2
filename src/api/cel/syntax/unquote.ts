/** The value of a string or bytes literal as it is written, quotes and prefix included. */
export type Unquoted<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: string };

export function unquoteString(literal: string): Unquoted<string> {
  const { body, raw } = strip(literal);
  if (raw || !body.includes("\\")) return { ok: true, value: body };
  let value = "";
  for (const part of parts(body)) {
    if (typeof part === "string") {
      value += part;
      continue;
    }
    const { code } = part;
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
      return { ok: false, error: "invalid unicode code point" };
    }
    value += String.fromCodePoint(code);
  }
  return { ok: true, value };
}

/** Of a bytes literal without its `b`. */
export function unquoteBytes(literal: string): Unquoted<Uint8Array> {
  const { body, raw } = strip(literal);
  const encoder = new TextEncoder();
  if (raw || !body.includes("\\")) return { ok: true, value: encoder.encode(body) };
  const bytes: number[] = [];
  for (const part of parts(body)) {
    if (typeof part === "string") {
      bytes.push(...encoder.encode(part));
    } else if (part.unicode) {
      return { ok: false, error: "unable to unescape string" };
    } else {
      bytes.push(part.code & 0xff);
    }
  }
  return { ok: true, value: Uint8Array.from(bytes) };
}

function strip(literal: string): { body: string; raw: boolean } {
  const text = literal.replaceAll(/\r\n?/g, "\n");
  const raw = text[0] === "r" || text[0] === "R";
  const quoted = raw ? text.slice(1) : text;
  const triple = quoted.length >= 6 && (quoted.startsWith('"""') || quoted.startsWith("'''"));
  const width = triple ? 3 : 1;
  return { body: quoted.slice(width, -width), raw };
}

const PART =
  /\\(?:[xX]([0-9a-fA-F]{2})|(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))|([0-3][0-7]{2})|(.))|[^\\]+/gsu;
const SIMPLE: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

/** Runs of text, and numbers that escapes give. */
function* parts(body: string): Generator<string | { code: number; unicode: boolean }> {
  for (const [text, hex, short, long, octal, simple] of body.matchAll(PART)) {
    const unicode = short ?? long;
    if (hex !== undefined) yield { code: Number.parseInt(hex, 16), unicode: false };
    else if (unicode !== undefined) yield { code: Number.parseInt(unicode, 16), unicode: true };
    else if (octal !== undefined) yield { code: Number.parseInt(octal, 8), unicode: false };
    else if (simple !== undefined) yield SIMPLE[simple] ?? simple;
    else yield text;
  }
}
