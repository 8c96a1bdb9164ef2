/**
 * Label selectors: the text of queries (`app=web,tier in (a,b),!old`), the LabelSelector of objects,
 * and what either of them selects.
 *
 * Promises:
 * 1. The grammar and the words of every error are those that clients know.
 * 2. Requirements are in the order of their keys; `formatSelector` reads back as the same selector.
 */
import type { LabelSelector } from "#api/generated/meta.v1.ts";
import { goQuote } from "./go-quote.ts";
import {
  type LabelOperator,
  type LabelRequirement,
  parseInt64,
  requirement,
  SelectorError,
} from "./label-requirement.ts";
import { parseRequirements } from "./label-selector-parser.ts";

/** All requirements must hold; none at all selects everything. */
export type Selector = readonly LabelRequirement[] | "nothing";

export type ParsedSelector =
  | { readonly ok: true; readonly value: Selector }
  | { readonly ok: false; readonly error: string };

export type Labels = Readonly<Record<string, string>>;

export const EVERYTHING: Selector = Object.freeze([]);

/** The last long text and what it means: a request's selector is read by authorization and by the verb. */
let lastParsed: { readonly text: string; readonly parsed: ParsedSelector } | undefined;
const LONG_TEXT = 1 << 10;

export function parseSelector(text: string): ParsedSelector {
  if (text.length < LONG_TEXT) return parse(text);
  if (lastParsed?.text !== text) lastParsed = { text, parsed: parse(text) };
  return lastParsed.parsed;
}

function parse(text: string): ParsedSelector {
  try {
    return { ok: true, value: inOrder(parseRequirements(text)) };
  } catch (error) {
    if (error instanceof SelectorError) return { ok: false, error: error.message };
    throw error;
  }
}

/** What a LabelSelector means: absent selects nothing, an empty one everything. */
export function selectorOf(selector: LabelSelector | undefined): ParsedSelector {
  if (selector === undefined) return { ok: true, value: "nothing" };
  try {
    const { matchLabels = {}, matchExpressions } = selector;
    const requirements = Object.entries(matchLabels).map(([key, value]) =>
      requirement(key, "=", [value]),
    );
    for (const { key, operator, values } of matchExpressions ?? []) {
      const known = EXPRESSION_OPERATORS.get(operator);
      if (known === undefined) {
        throw new SelectorError(`${goQuote(operator)} is not a valid label selector operator`);
      }
      requirements.push(requirement(key, known, values ?? []));
    }
    return { ok: true, value: inOrder(requirements) };
  } catch (error) {
    if (error instanceof SelectorError) return { ok: false, error: error.message };
    throw error;
  }
}

/** Selects what carries all these labels, which were checked before. */
export function selectorFromLabels(labels: Labels): Selector {
  const entries = Object.entries(labels);
  return inOrder(entries.map(([key, value]) => ({ key, operator: "=", values: [value] })));
}

export function formatSelector(selector: Selector): string {
  return selector === "nothing" ? "" : selector.map(formatRequirement).join(",");
}

export function matchesLabels(selector: Selector, labels: Labels | undefined): boolean {
  if (selector === "nothing") return false;
  for (const one of selector) if (!holds(one, labels)) return false;
  return true;
}

const EXPRESSION_OPERATORS: ReadonlyMap<string, LabelOperator> = new Map([
  ["In", "in"],
  ["NotIn", "notin"],
  ["Exists", "exists"],
  ["DoesNotExist", "!"],
]);

function holds({ key, operator, values }: LabelRequirement, labels: Labels | undefined): boolean {
  const value: unknown = labels?.[key];
  const has = typeof value === "string"; // what an object inherits is no label
  switch (operator) {
    case "in":
    case "=":
    case "==":
      return has && values.includes(value);
    case "notin":
    case "!=":
      return !(has && values.includes(value));
    case "exists":
      return has;
    case "!":
      return !has;
    case "gt":
    case "lt": {
      if (!has) return false;
      const [actual, limit] = [parseInt64(value), parseInt64(values[0] ?? "")];
      if (actual === undefined || limit === undefined) return false;
      return operator === "gt" ? actual > limit : actual < limit;
    }
  }
}

function formatRequirement({ key, operator, values }: LabelRequirement): string {
  if (operator === "exists") return key;
  if (operator === "!") return `!${key}`;
  const list = [...values].sort().join(",");
  if (operator === "in" || operator === "notin") return `${key} ${operator} (${list})`;
  const sign = operator === "gt" ? ">" : operator === "lt" ? "<" : operator;
  return `${key}${sign}${list}`;
}

function inOrder(requirements: readonly LabelRequirement[]): readonly LabelRequirement[] {
  return requirements.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
}
