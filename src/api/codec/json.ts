/**
 * JSON of built-in types, both ways.
 *
 * Promises:
 * 1. `decodeJson` gives the object in its normal form (normalizer.ts) or says what is wrong in the
 *    words of the real server. Unknown and duplicate fields do not fail: they are listed, and the
 *    caller decides whether that is an error, a warning or nothing.
 * 2. Whole numbers keep every digit: beyond 2^53 they are bigints.
 * 3. No input makes it throw.
 *
 * Ordinary input takes the quick way: JSON.parse, one scan of the text, and the type's generated
 * code. Only when those three do not agree that the input is plain is it read again, exactly.
 */
import type { StructSchema } from "#api/schema/schema.ts";
import { finish, type Steps } from "#lib/async/steps.ts";
import { FORGED_KEY, hasForgedKey } from "#lib/json/forged-keys.ts";
import { decodeExactly } from "./exact-decoder.ts";
import { scanJson } from "./json-scan.ts";
import {
  findJsonSyntaxError,
  JSON_DEPTH_MAX,
  JSON_TEXT_DEPTH_MAX,
  TOO_DEEP,
} from "./json-syntax.ts";
import { findDuplicates, findOverflow, parseJsonTree, plainValue } from "./json-tree.ts";
import { freeJson, tally, UNUSUAL } from "./normal-values.ts";
import { normalizerOf } from "./normalizer.ts";

/** A step with so much text takes some microseconds: not worth a look at the clock behind it. */
export const QUICK_BYTES_MAX = 8 * 1024;

export type Decoded =
  | {
      readonly ok: true;
      readonly value: Record<string, unknown>;
      /** `unknown field "spec.foo"`, `duplicate field "metadata.name"`, in reading order. */
      readonly strictErrors: readonly string[];
    }
  | { readonly ok: false; readonly error: string };

export function decodeJson(schema: StructSchema, input: string | Uint8Array): Decoded {
  return finish(decodeJsonSteps(schema, input));
}

/** The same in steps: large texts take long. */
export function* decodeJsonSteps(schema: StructSchema, input: string | Uint8Array): Steps<Decoded> {
  const parsed = parse(input);
  if (!parsed.ok) return parsed;
  if (parsed.bytes.length > QUICK_BYTES_MAX) yield;
  if (!parsed.odd && !parsed.deep) {
    const normal = quickly(schema, parsed.value, true);
    if (normal !== undefined && tally.keys === parsed.keys) {
      return { ok: true, value: normal, strictErrors: [] };
    }
  }
  return yield* exactly(schema, parsed);
}

/** The normal form of a value that is no text any more: the outcome of a patch, a draft. */
export function normalize(schema: StructSchema, value: unknown): Decoded {
  return finish(normalizeSteps(schema, value));
}

/** The same in steps: what is not plain takes several times as long. */
export function* normalizeSteps(schema: StructSchema, value: unknown): Steps<Decoded> {
  const normal = quickly(schema, value, false);
  if (normal !== undefined) return { ok: true, value: normal, strictErrors: [] };
  yield;
  const parsed = parse(encodeJson(value));
  if (!parsed.ok) return parsed;
  yield;
  return yield* exactly(schema, parsed);
}

export type ParsedJson =
  | { readonly ok: true; readonly value: unknown; readonly duplicates: readonly string[] }
  | { readonly ok: false; readonly error: string };

/** JSON without a type: custom resources, patches. Duplicates are listed like strict errors. */
export function parseJson(input: string | Uint8Array): ParsedJson {
  return finish(parseJsonSteps(input));
}

/** The same in steps: large texts take long. */
export function* parseJsonSteps(input: string | Uint8Array): Steps<ParsedJson> {
  const parsed = parse(input);
  if (!parsed.ok) return parsed;
  yield;
  if (parsed.deep) return { ok: false, error: syntaxErrorOf(parsed.bytes, JSON_DEPTH_MAX) };
  if (!parsed.odd) {
    tally.keys = 0;
    tally.isWanted = true;
    freeJson(parsed.value);
    if (tally.keys === parsed.keys) return { ok: true, value: parsed.value, duplicates: [] };
  }
  const tree = yield* parseJsonTree(parsed.text);
  const number = findOverflow(tree);
  if (number !== undefined) {
    const error = `json: cannot unmarshal number ${number} into Go value of type float64`;
    return { ok: false, error };
  }
  return { ok: true, value: plainValue(tree), duplicates: findDuplicates(tree) };
}

/** The value of a JSON object without duplicate keys and odd numbers; undefined: it must be read exactly. */
export function parsePlainJson(input: string | Uint8Array): object | undefined {
  const parsed = parse(input);
  if (!parsed.ok || parsed.odd || parsed.deep || !isPlain(parsed.value)) return undefined;
  tally.keys = 0;
  tally.isWanted = true;
  freeJson(parsed.value);
  return tally.keys === parsed.keys ? parsed.value : undefined;
}

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

export function encodeJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch (error) {
    if (error instanceof TypeError) return encodeExactly(value);
    throw error;
  }
}

/** JSON.stringify refuses bigints. */
function encodeExactly(value: unknown): string {
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `[${value.map(encodeExactly).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([key, member]) => `${JSON.stringify(key)}:${encodeExactly(member)}`);
  return `{${members.join(",")}}`;
}

interface ParsedText {
  readonly ok: true;
  readonly text: string;
  readonly bytes: Uint8Array;
  readonly value: unknown;
  readonly keys: number;
  /** Deeper than what can be kept. */
  readonly deep: boolean;
  /** The parsed value loses information of the text. */
  readonly odd: boolean;
}

type Parsed = ParsedText | { readonly ok: false; readonly error: string };

// A byte order mark is no JSON, so it must not be dropped unseen.
const utf8Decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const utf8Encoder = new TextEncoder();

function parse(input: string | Uint8Array): Parsed {
  const text = typeof input === "string" ? input : utf8Decoder.decode(input);
  const bytes = typeof input === "string" ? utf8Encoder.encode(input) : input;
  const { keys, depth, oddNumbers, backslashKeys } = scanJson(bytes, JSON_TEXT_DEPTH_MAX);
  // The scanner of errors has the same limit and names the character. JSON.parse has none.
  if (depth > JSON_TEXT_DEPTH_MAX) return { ok: false, error: syntaxErrorOf(bytes) };
  if (backslashKeys && hasForgedKey(text)) return { ok: false, error: FORGED_KEY };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, error: syntaxErrorOf(bytes) };
  }
  const odd = oddNumbers || mayHoldHalfAPair(text);
  return { ok: true, text, bytes, value, keys, odd, deep: depth > JSON_DEPTH_MAX };
}

function syntaxErrorOf(bytes: Uint8Array, depthMax = JSON_TEXT_DEPTH_MAX): string {
  return findJsonSyntaxError(bytes, depthMax) ?? "invalid JSON";
}

function mayHoldHalfAPair(text: string): boolean {
  return text.includes("\\u") && /\\u[dD][89a-fA-F]/.test(text);
}

/** The normal form, with `tally.keys` telling its keys if they count; undefined if it is unusual. */
function quickly(
  schema: StructSchema,
  value: unknown,
  keysCount: boolean,
): Record<string, unknown> | undefined {
  tally.keys = 0;
  tally.isWanted = keysCount;
  try {
    return normalizerOf(schema)(value);
  } catch (error) {
    if (error === UNUSUAL) return undefined;
    throw error;
  }
}

function* exactly(schema: StructSchema, { text, bytes }: ParsedText): Steps<Decoded> {
  const tree = yield* parseJsonTree(text);
  yield;
  const decoded = decodeExactly(schema, tree);
  if (!decoded.ok) {
    if (decoded.error !== TOO_DEEP) return decoded;
    return { ok: false, error: syntaxErrorOf(bytes, JSON_DEPTH_MAX) };
  }
  yield;
  return { ...decoded, value: normalizerOf(schema)(decoded.value) };
}
