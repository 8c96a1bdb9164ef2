/**
 * JSON as it was written: keys in order and as often as they stand there, numbers by their
 * spelling. What the exact decoder reads when the parsed value is not enough.
 */
import { goQuote } from "#api/meta/go-quote.ts";
import type { Steps } from "#lib/async/steps.ts";
import { endOfString } from "./json-scan.ts";
import { define } from "./normal-values.ts";

export type JsonNode = null | boolean | string | JsonNumber | JsonNode[] | JsonObject;

export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Whole numbers are exact: a bigint where a number would round. Undefined beyond all floats. */
  get value(): number | bigint | undefined {
    const number = Number(this.text);
    if (Number.isSafeInteger(number)) return number;
    return wholeNumber(this.text, 64) ?? (Number.isFinite(number) ? number : undefined);
  }
}

const WHOLE = /^-?\d+$/;
/** Longer than any 64-bit number, and nothing to spend time on. */
const WHOLE_LENGTH_MAX = 20;

/** A whole number of so many bits; undefined if the text is none or does not fit. */
export function wholeNumber(text: string, bits: 32 | 64): number | bigint | undefined {
  if (text.length > WHOLE_LENGTH_MAX || !WHOLE.test(text)) return undefined;
  const whole = BigInt(text);
  if (BigInt.asIntN(bits, whole) !== whole) return undefined;
  const number = Number(whole);
  return Number.isSafeInteger(number) ? number : whole;
}

export class JsonObject {
  readonly keys: string[] = [];
  readonly values: JsonNode[] = [];
}

/** About two milliseconds. */
const TOKENS_PER_STEP = 8_192;

/** Reads text that is known to be valid JSON. Does not call itself, so depth does not matter. */
export function* parseJsonTree(text: string): Steps<JsonNode> {
  const open: (JsonObject | JsonNode[])[] = [];
  let result: JsonNode = null;
  let count = 0;
  for (const token of tokensOf(text)) {
    if (++count % TOKENS_PER_STEP === 0) yield;
    const inside = open.at(-1);
    if (token === "}" || token === "]") {
      open.pop();
    } else if (inside instanceof JsonObject && inside.keys.length === inside.values.length) {
      inside.keys.push(unquote(token));
    } else {
      const node = nodeOf(token);
      if (inside === undefined) result = node;
      else if (Array.isArray(inside)) inside.push(node);
      else inside.values.push(node);
      if (Array.isArray(node) || node instanceof JsonObject) open.push(node);
    }
  }
  return result;
}

/** Whether a node has more than so many levels. Does not call itself either. */
export function isDeeperThan(levels: number, node: JsonNode): boolean {
  const open: [node: JsonNode, left: number][] = [[node, levels]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [inside, left] = next;
    if (!Array.isArray(inside) && !(inside instanceof JsonObject)) continue;
    if (left <= 0) return true;
    const children = Array.isArray(inside) ? inside : inside.values;
    for (const child of children) open.push([child, left - 1]);
  }
  return false;
}

/** A value without its spelling: free JSON. A key that stands there twice has its last value. */
export function plainValue(node: JsonNode): unknown {
  if (node instanceof JsonNumber) return node.value ?? Number(node.text);
  if (Array.isArray(node)) return node.map(plainValue);
  if (!(node instanceof JsonObject)) return node;
  const object: Record<string, unknown> = {};
  for (const [i, key] of node.keys.entries()) define(object, key, plainValue(node.values[i]!));
  return object;
}

/** The spelling of the first number that no float can hold. */
export function findOverflow(node: JsonNode): string | undefined {
  if (node instanceof JsonNumber) return node.value === undefined ? node.text : undefined;
  const children = Array.isArray(node) ? node : node instanceof JsonObject ? node.values : [];
  for (const child of children) {
    const found = findOverflow(child);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** More than this are not collected. */
const DUPLICATES_MAX = 100;

/** `duplicate field "a.b[0].c"` for every key that stands twice in its object. */
export function findDuplicates(tree: JsonNode, at = ""): string[] {
  const found = new Set<string>();
  const visit = (node: JsonNode, path: string): void => {
    if (Array.isArray(node)) {
      for (const [i, item] of node.entries()) visit(item, `${path}[${i}]`);
    }
    if (!(node instanceof JsonObject)) return;
    const seen = new Set<string>();
    for (const [i, key] of node.keys.entries()) {
      const at = path === "" ? key : `${path}.${key}`;
      if (seen.has(key) && found.size < DUPLICATES_MAX) found.add(`duplicate field ${goQuote(at)}`);
      seen.add(key);
      visit(node.values[i]!, at);
    }
  };
  visit(tree, at);
  return [...found];
}

/** Space, commas and colons, which valid text does not need to be read. */
const FILLER = /[\s,:]/;
const BARE_WORD = /[-+.\w]+/y;

/** Strings are cut out by hand: one of several megabytes is too much for a pattern. */
function* tokensOf(text: string): Generator<string> {
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (FILLER.test(c)) continue;
    let end = i + 1;
    if (c === '"') {
      end = endOfString(text, i + 1) + 1;
    } else if (!"{}[]".includes(c)) {
      BARE_WORD.lastIndex = i;
      BARE_WORD.test(text);
      end = BARE_WORD.lastIndex;
    }
    yield text.slice(i, end);
    i = end - 1;
  }
}

function nodeOf(token: string): JsonNode {
  switch (token[0]) {
    case "{":
      return new JsonObject();
    case "[":
      return [];
    case '"':
      return unquote(token);
    case "t":
      return true;
    case "f":
      return false;
    case "n":
      return null;
    default:
      return new JsonNumber(token);
  }
}

/** Half of a surrogate pair is no character: it reads as the replacement character. */
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

function unquote(token: string): string {
  if (!token.includes("\\")) return token.slice(1, -1);
  return (JSON.parse(token) as string).replace(LONE_SURROGATE, "\ufffd");
}
