/** The kinds of tokens, numbered in the order in which error texts list what was expected. */
const NAMES = [
  "", // kinds count from 1
  "'=='",
  "'!='",
  "'in'",
  "'<'",
  "'<='",
  "'>='",
  "'>'",
  "'&&'",
  "'||'",
  "'['",
  "']'",
  "'{'",
  "'}'",
  "'('",
  "')'",
  "'.'",
  "','",
  "'-'",
  "'!'",
  "'?'",
  "':'",
  "'+'",
  "'*'",
  "'/'",
  "'%'",
  "'true'",
  "'false'",
  "'null'",
  "WHITESPACE",
  "COMMENT",
  "NUM_FLOAT",
  "NUM_INT",
  "NUM_UINT",
  "STRING",
  "BYTES",
  "IDENTIFIER",
  "ESC_IDENTIFIER",
] as const;

export type TokenName = Exclude<(typeof NAMES)[number], ""> | "<EOF>";

export const END = -1;

/** Those that are written with signs, longer ones first. */
export const SYMBOLS = NAMES.filter((name) => /^'[^a-z]+'$/.test(name)).sort(
  (a, b) => b.length - a.length,
) as readonly Exclude<TokenName, "<EOF>">[];

export interface Token {
  readonly kind: number;
  readonly text: string;
  /** Place in the source; a token that error recovery made up has its neighbour's place. */
  readonly offset: number;
  /** Place among all tokens; -1 if made up. */
  readonly index: number;
}

const KINDS: ReadonlyMap<string, number> = new Map([
  ...NAMES.map((name, kind) => [name, kind] as const),
  ["<EOF>", END] as const,
]);

export function kindOf(name: TokenName): number {
  return KINDS.get(name)!;
}

export function nameOf(kind: number): string {
  return kind === END ? "<EOF>" : NAMES[kind]!;
}

export const HIDDEN: ReadonlySet<number> = new Set([kindOf("WHITESPACE"), kindOf("COMMENT")]);
