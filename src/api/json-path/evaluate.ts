/**
 * Evaluates JSONPath templates on JSON values, as kubectl and printer columns do with missing keys
 * allowed: what is not there gives no result.
 */
import type { JsonPathNode, JsonPathTemplate } from "./parse.ts";

type Values = readonly unknown[];

/** Recursive descent and wildcards stop after so many values. */
const VALUES_MAX = 10_000;

/** The values that each action of the template finds. A path that does not fit the value finds none. */
export function evaluateJsonPath(template: JsonPathTemplate, root: unknown): readonly Values[] {
  return template.map((path) => walk(path, [root], root));
}

/** A value as text: strings as they are, all else as JSON. */
export function jsonPathText(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "object" && value !== null) return JSON.stringify(value);
  return value === null ? "<nil>" : String(value);
}

function walk(path: readonly JsonPathNode[], from: Values, root: unknown): Values {
  let values = from;
  for (const [i, node] of path.entries()) {
    if (node.node === "recursive") {
      const rest = path.slice(i + 1);
      return values.flatMap(descendants).flatMap((value) => walk(rest, [value], root));
    }
    values = step(node, values, root).slice(0, VALUES_MAX);
  }
  return values;
}

function step(node: JsonPathNode, values: Values, root: unknown): Values {
  switch (node.node) {
    case "text":
      return [node.text];
    case "number":
    case "bool":
      return [node.value];
    case "field":
      return node.name === "" ? values : values.flatMap((value) => member(value, node.name));
    case "wildcard":
      return values.flatMap(children);
    case "slice":
      return values.flatMap((value) => (Array.isArray(value) ? slice(value, node) : []));
    case "union":
      return node.paths.flatMap((path) => walk(path, values, root));
    case "filter":
      return values.flatMap((value) =>
        children(value).filter((item) => isChosen(node, item, root)),
      );
    case "identifier": // range and end, which only templates of kubectl have
    case "recursive":
      return [];
  }
}

function member(value: unknown, name: string): Values {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  return Object.hasOwn(value, name) ? [(value as Record<string, unknown>)[name]] : [];
}

function children(value: unknown): Values {
  if (Array.isArray(value)) return value;
  return typeof value === "object" && value !== null ? Object.values(value) : [];
}

function descendants(value: unknown): Values {
  const found: unknown[] = [value];
  for (let i = 0; i < found.length && found.length < VALUES_MAX; i++) {
    found.push(...children(found[i]));
  }
  return found;
}

function slice(
  list: Values,
  { start = 0, end, step = 1 }: Extract<JsonPathNode, { node: "slice" }>,
): Values {
  const from = start < 0 ? start + list.length : start;
  const isLast = start === -1 && end === 0; // a single index, -1
  const beforeEnd = end === undefined || isLast ? list.length : end;
  const to = beforeEnd < 0 ? beforeEnd + list.length : beforeEnd;
  if (from < 0 || step <= 0) return [];
  const chosen: unknown[] = [];
  for (let i = from; i < Math.min(to, list.length); i += step) chosen.push(list[i]);
  return chosen;
}

function isChosen(
  { left, operator, right }: Extract<JsonPathNode, { node: "filter" }>,
  item: unknown,
  root: unknown,
): boolean {
  const [a] = walk(left, [item], root);
  if (operator === "exists") return a !== undefined;
  const [b] = walk(right, [item], root);
  if (a === undefined || b === undefined || typeof a !== typeof b) return false;
  switch (operator) {
    case "==":
      return a === b;
    case "!=":
      return a !== b;
    default:
      return isOrdered(a as string | number, b as string | number, operator);
  }
}

function isOrdered(a: string | number, b: string | number, operator: string): boolean {
  switch (operator) {
    case "<":
      return a < b;
    case "<=":
      return a <= b;
    case ">":
      return a > b;
    case ">=":
      return a >= b;
    default:
      return false;
  }
}
