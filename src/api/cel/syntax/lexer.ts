/**
 * Text to tokens: of all kinds that fit at a place the longest wins, the first listed among equals.
 * Text that fits none is reported and skipped, up to and including the character that broke the last
 * attempt.
 */
import type { Source } from "./source.ts";
import { END, kindOf, SYMBOLS, type Token, type TokenName } from "./tokens.ts";

const ESCAPE =
  "\\\\(?:[abfnrtv\"'\\\\?`" +
  "]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})";
const STRING =
  String.raw`"""(?:${ESCAPE}|[^\\])*?"""|'''(?:${ESCAPE}|[^\\])*?'''` +
  String.raw`|"(?:${ESCAPE}|[^\\"\n\r])*"|'(?:${ESCAPE}|[^\\'\n\r])*'` +
  String.raw`|[rR]"""[^]*?"""|[rR]'''[^]*?'''|[rR]"[^"\n\r]*"|[rR]'[^'\n\r]*'`;

const WORDS: ReadonlyMap<string, number> = new Map(
  (["'in'", "'true'", "'false'", "'null'"] as const).map((name) => [
    name.slice(1, -1),
    kindOf(name),
  ]),
);
const SYMBOL_PATTERN = SYMBOLS.map((name) =>
  name.slice(1, -1).replaceAll(/[[\]{}().?+*/|]/g, "\\$&"),
).join("|");

/** In the order in which the first of two fitting kinds is also the longer. */
const KINDS: readonly (readonly [name: TokenName | "symbol" | "word", pattern: string])[] = [
  ["WHITESPACE", String.raw`[\t \r\n\f]+`],
  ["COMMENT", String.raw`//[^\n]*`],
  ["BYTES", `[bB](?:${STRING})`],
  ["STRING", STRING],
  ["word", "[a-zA-Z_][a-zA-Z0-9_]*"],
  ["ESC_IDENTIFIER", "`[a-zA-Z0-9_.\\-/ ]+`"],
  ["NUM_UINT", "0x[0-9a-fA-F]+[uU]|[0-9]+[uU]"],
  [
    "NUM_FLOAT",
    String.raw`[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?`,
  ],
  ["NUM_INT", "0x[0-9a-fA-F]+|[0-9]+"],
  ["symbol", SYMBOL_PATTERN],
];
const PATTERNS = KINDS.map(([name, pattern]) => ({ name, pattern: new RegExp(pattern, "uy") }));

/** One more than is reported. */
const FAULTS_MAX = 100;

export interface Lexed {
  readonly tokens: readonly Token[];
  readonly faults: readonly { readonly offset: number; readonly message: string }[];
}

export function lex({ text }: Source): Lexed {
  const tokens: Token[] = [];
  const faults: { offset: number; message: string }[] = [];
  for (let offset = 0; offset < text.length; ) {
    const token = tokenAt(text, offset, tokens.length);
    if (token !== undefined) {
      tokens.push(token);
      offset += token.text.length;
      continue;
    }
    const end = failureAt(text, offset);
    const seen = text.slice(offset, end);
    const message = `Syntax error: token recognition error at: '${seen}'`;
    faults.push({ offset, message });
    if (faults.length > FAULTS_MAX) break;
    offset = end;
  }
  tokens.push({ kind: END, text: "<EOF>", offset: text.length, index: tokens.length });
  return { tokens, faults };
}

function tokenAt(text: string, offset: number, index: number): Token | undefined {
  for (const { name, pattern } of PATTERNS) {
    pattern.lastIndex = offset;
    const found = pattern.exec(text)?.[0];
    if (found === undefined) continue;
    return { kind: kindOfText(name, found), text: found, offset, index };
  }
  return undefined;
}

function kindOfText(name: TokenName | "symbol" | "word", text: string): number {
  if (name === "symbol") return kindOf(`'${text}'` as TokenName);
  if (name === "word") return WORDS.get(text) ?? kindOf("IDENTIFIER");
  return kindOf(name);
}

/** What each beginning of a token can go on with; the next character broke it. */
const BEGINNINGS = [
  String.raw`"(?:${ESCAPE}|[^\\"\n\r])*(?:\\(?:[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-3][0-7]?)?)?`,
  String.raw`'(?:${ESCAPE}|[^\\'\n\r])*(?:\\(?:[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-3][0-7]?)?)?`,
  "`[a-zA-Z0-9_.\\-/ ]*",
  "[=&|]",
  "",
].map((pattern) => new RegExp(pattern, "uy"));

function failureAt(text: string, offset: number): number {
  for (const pattern of BEGINNINGS) {
    pattern.lastIndex = offset;
    if (!pattern.test(text)) continue;
    const at = pattern.lastIndex;
    const broken = text.codePointAt(at);
    return broken === undefined ? at : at + (broken > 0xffff ? 2 : 1);
  }
  return offset + 1;
}
