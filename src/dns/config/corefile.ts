/**
 * Reads the text of a Corefile into server blocks: zones, and directives with arguments and lines of
 * their own. What directives mean is decided in read-config.ts. Snippets, `import` and environment
 * variables are refused.
 */
export interface ServerBlock {
  /** Lower case, without ports and the dot at the end; the root is empty. */
  readonly zones: readonly string[];
  readonly directives: readonly Directive[];
}

export interface Directive {
  readonly name: string;
  readonly args: readonly string[];
  /** The lines between its braces. */
  readonly lines: readonly Line[];
  readonly line: number;
}

interface Line {
  readonly words: readonly string[];
  readonly line: number;
}

export class CorefileError extends Error {
  override readonly name = "CorefileError";
  constructor(line: number, problem: string) {
    super(`Corefile:${line} - Error during parsing: ${problem}`);
  }
}

const LINES_MAX = 10_000;

export function parseCorefile(text: string): readonly ServerBlock[] {
  const lines = splitLines(text);
  const blocks: ServerBlock[] = [];
  let at = 0;
  while (at < lines.length) {
    const { words, line } = lines[at]!;
    if (words.at(-1) !== "{") throw new CorefileError(line, "expected '{' after the zones");
    const end = endOfBlock(lines, at);
    blocks.push({
      zones: words.slice(0, -1).map((word) => zoneOf(word, line)),
      directives: directivesOf(lines.slice(at + 1, end)),
    });
    at = end + 1;
  }
  return blocks;
}

function directivesOf(lines: readonly Line[]): Directive[] {
  const directives: Directive[] = [];
  for (let at = 0; at < lines.length; at++) {
    const { words, line } = lines[at]!;
    const [name = "", ...args] = words;
    if (args.at(-1) !== "{") {
      directives.push({ name, args, lines: [], line });
      continue;
    }
    const end = endOfBlock(lines, at);
    directives.push({ name, args: args.slice(0, -1), lines: lines.slice(at + 1, end), line });
    at = end;
  }
  return directives;
}

/** The line of the closing brace of the block that this line opens. */
function endOfBlock(lines: readonly Line[], start: number): number {
  let depth = 0;
  for (let at = start; at < lines.length; at++) {
    const { words } = lines[at]!;
    if (words.at(-1) === "{") depth += 1;
    if (words.length === 1 && words[0] === "}") depth -= 1;
    if (depth === 0) return at;
  }
  throw new CorefileError(lines[start]!.line, "Unexpected EOF, expecting '}'");
}

function splitLines(text: string): Line[] {
  const found: Line[] = [];
  const rows = text.split(/\r?\n/);
  if (rows.length > LINES_MAX) throw new CorefileError(LINES_MAX, "too many lines");
  rows.forEach((row, i) => {
    const line = i + 1;
    const words = wordsOf(row, line);
    if (words.length > 0) found.push({ words, line });
  });
  return found;
}

function wordsOf(row: string, line: number): string[] {
  const words: string[] = [];
  for (const [, quoted, plain] of row.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)) {
    if (plain?.startsWith("#")) break;
    const word = plain ?? (quoted ?? "").replace(/\\"/g, '"');
    if (word.includes("{$") || word === "import" || /^\(.*\)$/.test(word)) {
      throw new CorefileError(line, `${word} is not supported`);
    }
    words.push(word);
  }
  return words;
}

/** `example.org:53`, `dns://example.org.`, `.:53` */
function zoneOf(word: string, line: number): string {
  const scheme = /^(\w+):\/\//.exec(word)?.[1];
  if (scheme !== undefined && scheme !== "dns") {
    throw new CorefileError(line, `the scheme ${scheme}:// is not supported`);
  }
  return nameOf(word.replace(/^dns:\/\//, "").replace(/:\d+$/, ""));
}

/** Lower case, without the dot at the end. */
export function nameOf(word: string): string {
  return word.toLowerCase().replace(/\.$/, "");
}
