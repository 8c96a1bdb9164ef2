/** Text to expression: lexer, grammar, then the tree that the checker reads, macros expanded. */
import type { Expr } from "../ast.ts";
import { Builder } from "./builder.ts";
import { Faults } from "./faults.ts";
import { lex } from "./lexer.ts";
import { DEFAULT_LIMITS, REPORTS_MAX } from "./limits.ts";
import { recognise } from "./recognise.ts";
import { codePointCount, createSource, NO_LOCATION, type Source } from "./source.ts";
import { type ParserOptions, TreeReader } from "./tree-reader.ts";

export interface Parsed {
  readonly source: Source;
  readonly expr: Expr;
  readonly faults: Faults;
}

const CODE_POINTS_MAX = 100_000;

export function parse(text: string, options: ParserOptions): Parsed {
  const source = createSource(text);
  const faults = new Faults();
  const build = new Builder();
  const size = codePointCount(text);
  if (size > CODE_POINTS_MAX) {
    const message = `expression code point size exceeds limit: size: ${size}, limit ${CODE_POINTS_MAX}`;
    faults.add(NO_LOCATION, message);
    return { source, faults, expr: build.unspecified(-1) };
  }
  const lexed = lex(source);
  const tooMany = lexed.faults[REPORTS_MAX];
  if (tooMany !== undefined) {
    for (const { offset, message } of lexed.faults.slice(0, REPORTS_MAX)) {
      faults.addAt(source, offset, message);
    }
    const message = `Syntax error: More than ${REPORTS_MAX} syntax errors`;
    faults.addAt(source, tooMany.offset, message);
    return { source, faults, expr: build.unspecified(-1) };
  }
  const limits = options.limits ?? DEFAULT_LIMITS;
  const { tree, furthest } = recognise(source, lexed.tokens, faults, limits);
  for (const { offset, message } of lexed.faults) {
    // Text that a limit kept the parser from reading is not complained about.
    if (tree === undefined && offset > furthest.offset) break;
    faults.addAt(source, offset, message);
  }
  if (tree === undefined) return { source, faults, expr: build.unspecified(-1) };
  return { source, faults, expr: new TreeReader(source, faults, build, options).read(tree) };
}
