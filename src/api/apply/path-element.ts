/**
 * One step of a field's path, as FieldsV1 writes it:
 *
 *     f:name                        a member of an object
 *     k:{"port":80,"protocol":"T"}  the item of a list whose key fields are these, in order of names
 *     v:"a"                         the item of a set that is this value
 *     i:0                           the item at an index (only read, never written)
 *
 * Two steps are the same exactly if their texts are, so texts are what sets are made of.
 */
import { goMapJson } from "#api/meta/go-json.ts";
import { goQuote } from "#api/meta/go-quote.ts";

/** Members come first, then items by key, by value, by index; each in the order of what they name. */
export function compareElements(a: string, b: string): number {
  if (a === b) return 0;
  const kind = a[0]!;
  if (kind === "f" && b[0] === "f") return a < b ? -1 : 1;
  if (kind !== b[0]) return RANKS.indexOf(kind) - RANKS.indexOf(b[0]!);
  switch (kind) {
    case "k":
      return compareKeyTexts(a, b);
    case "v":
      return compareValues(JSON.parse(a.slice(2)), JSON.parse(b.slice(2)));
    case "i":
      return Number(a.slice(2)) - Number(b.slice(2));
    default:
      return a < b ? -1 : 1;
  }
}

/** As conflicts name it: `.spec`, `[name="c"]`, `[="x"]`. */
export function formatElement(element: string): string {
  const content = element.slice(2);
  switch (element[0]) {
    case "k":
      return `[${keyEntries(element)
        .map(([name, value]) => `${name}=${formatValue(value)}`)
        .join(",")}]`;
    case "v":
      return `[=${formatValue(JSON.parse(content))}]`;
    case "i":
      return `[${content}]`;
    default:
      return `.${content}`;
  }
}

/** The text of a `k:` step; names must be in order. */
export function keyElement(entries: readonly (readonly [name: string, value: unknown])[]): string {
  let text = "";
  for (const [name, value] of entries) {
    text += `${text === "" ? "" : ","}"${name}":${scalarJson(value)}`;
  }
  return `k:{${text}}`;
}

export function valueElement(value: unknown): string {
  return `v:${scalarJson(value)}`;
}

/** The path element in canonical form; undefined if its type is unknown; throws if it is invalid. */
export function canonicalElement(text: string): string | undefined {
  if (text.length < 2) throw new Error("key must be 2 characters long:");
  if (text[1] !== ":") throw new Error(`missing colon: ${text}`);
  switch (text[0]) {
    case "f":
      return text;
    case "k": {
      const entries = keyEntries(text).sort(([a], [b]) => (a < b ? -1 : 1));
      return keyElement(entries);
    }
    case "v":
      return valueElement(JSON.parse(text.slice(2)));
    case "i":
      if (!/^[-+]?[0-9]+$/.test(text.slice(2))) throw new Error(`bad index: ${text}`);
      return `i:${Number(text.slice(2))}`;
    default:
      return undefined;
  }
}

const RANKS = ".fkvi";
/** One text without quotes, escapes or anything that sorts before a quote: as its text sorts. */
const PLAIN_KEY = /^k:\{"[^"\\]+":"[^"\\ !]*"\}$/;

/** A key that begins with a whole number. */
const NUMBER_KEY = /^k:\{"([^"\\]+)":(\d+)[,}]/;
const PLAIN_TEXT = /^[\w./:@-]*$/;

function scalarJson(value: unknown): string {
  if (typeof value === "string" && PLAIN_TEXT.test(value)) return `"${value}"`;
  return typeof value === "number" ? String(value) : goMapJson(value);
}

function keyEntries(element: string): [name: string, value: unknown][] {
  const key: unknown = JSON.parse(element.slice(2));
  if (typeof key !== "object" || key === null || Array.isArray(key)) {
    throw new Error(`a key must be an object: ${element}`);
  }
  return Object.entries(key);
}

function formatValue(value: unknown): string {
  if (typeof value === "string") return goQuote(value);
  if (value === null) return "null";
  if (Array.isArray(value)) return `[${value.map(formatValue).join(",")}]`;
  return String(value);
}

function compareKeyTexts(a: string, b: string): number {
  if (PLAIN_KEY.test(a) && PLAIN_KEY.test(b)) return a < b ? -1 : 1;
  const [numberA, numberB] = [NUMBER_KEY.exec(a), NUMBER_KEY.exec(b)];
  if (numberA !== null && numberB !== null && numberA[1] === numberB[1]) {
    const order = Number(numberA[2]) - Number(numberB[2]);
    if (order !== 0) return order;
  }
  return compareKeys(keyEntries(a), keyEntries(b));
}

function compareKeys(
  a: readonly (readonly [string, unknown])[],
  b: readonly (readonly [string, unknown])[],
): number {
  for (const [i, [name, value]] of a.entries()) {
    const other = b[i];
    if (other === undefined) return 1;
    if (name !== other[0]) return name < other[0] ? -1 : 1;
    const order = compareValues(value, other[1]);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** Numbers, then strings, then booleans, then the rest. */
function compareValues(a: unknown, b: unknown): number {
  const [rankA, rankB] = [valueRank(a), valueRank(b)];
  if (rankA !== rankB) return rankA - rankB;
  if (rankA < 3) return (a as string) < (b as string) ? -1 : (a as string) > (b as string) ? 1 : 0;
  const [textA, textB] = [goMapJson(a), goMapJson(b)];
  return textA < textB ? -1 : textA > textB ? 1 : 0;
}

function valueRank(value: unknown): number {
  if (typeof value === "number" || typeof value === "bigint") return 0;
  if (typeof value === "string") return 1;
  return typeof value === "boolean" ? 2 : 3;
}
