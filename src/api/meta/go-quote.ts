/** Strings in messages, quoted as clients know them from Go: `%q`, and the simpler form of its time package. */

/** Go's `%q`: escapes quotes, backslashes and everything that cannot be printed. */
export function goQuote(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  let out = '"';
  for (const char of text) out += quoteChar(char);
  return `${out}"`;
}

/** As the time package quotes what it could not parse: anything but printable ASCII byte by byte. */
export function goTimeQuote(text: string): string {
  let out = '"';
  for (const char of text) {
    if (char === '"' || char === "\\") out += `\\${char}`;
    else if (char >= " " && char <= "\x7f") out += char;
    else for (const byte of new TextEncoder().encode(char)) out += `\\x${hex(byte, 2)}`;
  }
  return `${out}"`;
}

const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;
const PRINTABLE = /[\p{L}\p{M}\p{N}\p{P}\p{S}]/u;
const NAMED: ReadonlyMap<string, string> = new Map([
  ["\x07", "\\a"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\v", "\\v"],
  ['"', '\\"'],
  ["\\", "\\\\"],
]);

function quoteChar(char: string): string {
  const named = NAMED.get(char);
  if (named !== undefined) return named;
  const code = char.codePointAt(0)!;
  if (code >= 0xd800 && code <= 0xdfff) return "\ufffd"; // half a pair: not a character
  if (char === " " || PRINTABLE.test(char)) return char;
  if (code < 0x80) return `\\x${hex(code, 2)}`;
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

function hex(code: number, width: number): string {
  return code.toString(16).padStart(width, "0");
}
