/** Patterns of field paths: names, with `*` for any one step. Everything below a match matches. */
import { EMPTY_SET, type FieldSet, isEmptySet, isMember, LEAF } from "./field-set.ts";

export type FieldPattern = readonly string[];

/** The members of a set that one of the patterns, or the way to one, covers. */
export function matching(set: FieldSet, patterns: readonly FieldPattern[]): FieldSet {
  return matchingChildren(set, patterns) ?? EMPTY_SET;
}

function matchingChildren(node: FieldSet, patterns: readonly FieldPattern[]): FieldSet | undefined {
  const kept: Record<string, FieldSet> = {};
  for (const element in node) {
    if (element === ".") continue;
    const rest = patterns
      .filter(([step]) => step === "*" || `f:${step}` === element)
      .map((pattern) => pattern.slice(1));
    if (rest.length === 0) continue;
    const child = node[element]!;
    const below = rest.some((pattern) => pattern.length === 0)
      ? child
      : matchingChildren(child, rest);
    if (below === child) kept[element] = child;
    else if (below !== undefined) kept[element] = isMember(child) ? { ".": LEAF, ...below } : below;
    else if (isMember(child)) kept[element] = LEAF;
  }
  return isEmptySet(kept) ? undefined : kept;
}
