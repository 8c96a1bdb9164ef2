/** The tree of the grammar's rules, as the recogniser leaves it, and how it is looked into. */
import type { Form, Label, RuleName } from "./grammar.ts";
import type { Token } from "./tokens.ts";

export interface Node {
  readonly rule: RuleName;
  /** Which of the rule's forms; unset if an error came before that was known. */
  readonly form: Form | undefined;
  /** The first token. */
  readonly start: Token;
  readonly parts: Partial<Record<Label, (Node | Token)[]>>;
}

export function node(tree: Node | undefined, label: Label): Node | undefined {
  return nodes(tree, label)[0];
}

export function token(tree: Node | undefined, label: Label): Token | undefined {
  return tokens(tree, label)[0];
}

export function nodes(tree: Node | undefined, label: Label): Node[] {
  return (tree?.parts[label] ?? []).filter((part) => "rule" in part);
}

export function tokens(tree: Node | undefined, label: Label): Token[] {
  return (tree?.parts[label] ?? []).filter((part): part is Token => !("rule" in part));
}

/** Passes through nodes that only wrap another. */
export function unnest(tree: Node | undefined): Node | undefined {
  let at = tree;
  while (at !== undefined) {
    const wraps =
      WRAPPING.has(at.form ?? "") ||
      (OPERATED.has(at.form ?? at.rule) && token(at, "op") === undefined);
    if (!wraps) return at;
    at = node(at, "e");
  }
  return undefined;
}

const WRAPPING: ReadonlySet<string> = new Set(["memberExpr", "primaryExpr", "nested", "constant"]);
const OPERATED: ReadonlySet<string> = new Set([
  "expr",
  "conditionalOr",
  "conditionalAnd",
  "relation",
  "calc",
]);
