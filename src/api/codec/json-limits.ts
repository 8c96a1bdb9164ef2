/**
 * Limits on what a request's JSON may consist of. A body of 3 MB holds a million empty objects, and
 * everything that looks at an object (defaults, validation, field managers) costs microseconds for
 * each of them. The text is scanned before it is parsed, and only as far as the limits.
 */
import { JSON_TEXT_DEPTH_MAX } from "./json-syntax.ts";

/** Members of objects and items of lists, together. */
export const JSON_VALUES_MAX = 65_000;
/** Objects that are items of lists: containers, environment variables, rules. */
export const JSON_LIST_OBJECTS_MAX = 10_000;

/** No shorter text can exceed a limit: an empty object in a list takes three bytes. */
const HARMLESS_BYTES = JSON_LIST_OBJECTS_MAX * 3;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Which limit the text exceeds; undefined if none. Text that is no JSON is refused elsewhere. */
export function findJsonExcess(
  text: Uint8Array,
  listObjectsMax = JSON_LIST_OBJECTS_MAX,
): string | undefined {
  const { length } = text;
  if (length <= HARMLESS_BYTES) return undefined;
  /** Whether the collection that is open at a level is a list. */
  const isList = new Uint8Array(JSON_TEXT_DEPTH_MAX + 1);
  let level = 0;
  let values = 0;
  let listObjects = 0;
  for (let i = 0; i < length; i++) {
    switch (text[i]) {
      case QUOTE:
        i = stringEnd(text, i + 1);
        break;
      case COLON:
        values++;
        break;
      case COMMA:
        values += isList[level]!;
        break;
      case OPEN_BRACE:
        listObjects += isList[level]!;
        if (++level > JSON_TEXT_DEPTH_MAX) return undefined; // refused for its depth
        isList[level] = 0;
        break;
      case OPEN_BRACKET:
        if (++level > JSON_TEXT_DEPTH_MAX) return undefined;
        isList[level] = 1;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        if (level > 0) level--;
        break;
    }
    if (listObjects > listObjectsMax) return excess(listObjectsMax, "objects in lists");
    if (values > JSON_VALUES_MAX) return excess(JSON_VALUES_MAX, "values");
  }
  return undefined;
}

function excess(max: number, what: string): string {
  return `limit is ${max} ${what}`;
}

/** Index of the quote that ends the string which begins at `from`. */
function stringEnd(text: Uint8Array, from: number): number {
  let i = from;
  while (i < text.length && text[i] !== QUOTE) i += text[i] === BACKSLASH ? 2 : 1;
  return i;
}
