/**
 * Keys that would change how V8 reads other JSON texts.
 *
 * JSON.parse of V8 14 (Node 24 to 26) expects at each place the key that it met there before. Where the text
 * has a key with escapes, it compares the expected key with the characters of the text, not with those that
 * they stand for: after `{"a":1,"b\\":1}` the key of `{"a":1,"b\n":1}` is `b\`. So one client could send a key
 * that looks like the text of another client's key, and the other's key would be lost.
 *
 * Keys with escapes that everybody's objects have are those of managedFields: `k:{"port":80}` and
 * `v:"finalizer"`. A key that begins like their text is none that Kubernetes knows (what follows `k:` and `v:`
 * is JSON, where no backslash stands before the first quote), and is refused before it is parsed.
 */
export const FORGED_KEY = "a key of managedFields has an escaped quote in place of a quote";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
/** How a forged key begins: `k:{\`, of which each character may be escaped. */
const FORGED_START =
  /(?:[kv]|\\u00(?:6b|76))(?::|\\u003a)(?:[[{]|\\u00(?:5b|7b))*(?:\\\\|\\u005c)/iy;

/** The text should be valid JSON; for other text the result means nothing. */
export function hasForgedKey(text: string): boolean {
  if (!writesBackslash(text)) return false;
  for (let open = text.indexOf('"'); open >= 0; ) {
    const close = endOfString(text, open + 1);
    FORGED_START.lastIndex = open + 1;
    if (FORGED_START.test(text) && isBeforeColon(text, close + 1)) return true;
    open = text.indexOf('"', close + 1);
  }
  return false;
}

/** Whether a string in it may have a backslash. */
function writesBackslash(text: string): boolean {
  if (!text.includes("\\")) return false;
  return text.includes("\\\\") || text.includes("\\u005c") || text.includes("\\u005C");
}

/** Index of the quote that ends the string whose first character is at `from`. */
function endOfString(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) return at;
    if (character === BACKSLASH) at += 1;
  }
  return text.length;
}

function isBeforeColon(text: string, from: number): boolean {
  let at = from;
  while (text.charCodeAt(at) <= 0x20) at += 1;
  return text.charCodeAt(at) === COLON;
}

/** JSON.parse for what a client may have written. Throws SyntaxError. */
export function parseForeignJson(text: string): unknown {
  if (hasForgedKey(text)) throw new SyntaxError(FORGED_KEY);
  return JSON.parse(text);
}
