/** What the language's own functions cost beside their operands, where that is more than one step. */
import type { Expr } from "../ast.ts";
import {
  COST_MAX,
  type Estimate,
  fixed,
  LIST_BASE,
  ONE,
  plus,
  REGEX_FACTOR,
  STRING_FACTOR,
  scaled,
  times,
  UNKNOWN,
} from "./estimate.ts";
import type { CostNode } from "./known-sizes.ts";
import type { CallCost } from "./static-cost.ts";

export function overloadCost(
  overload: string,
  target: CostNode | undefined,
  args: readonly CostNode[],
): CallCost | undefined {
  const cost = COSTS[overload] ?? (COMPARISON.test(overload) ? compared : undefined);
  if (cost !== undefined) return cost(target, args);
  const sorted = SORT.exec(overload);
  if (sorted === null) return undefined;
  const keys = sizeOf(overload.endsWith("_sort") ? target : args[0]);
  const factor = sorted[1] === "string" || sorted[1] === "bytes" ? 2 + STRING_FACTOR : 2;
  return listCall(factor, times(keys, keys));
}

type Cost = (target: CostNode | undefined, args: readonly CostNode[]) => CallCost;

const COMPARISON = /^(?:(?:less|greater)(?:_equals)?_(?:string|bytes)|equals|not_equals)$/;
const SORT = /^list_(.+)_sort(?:ByAssociatedKeys)?$/;

const COSTS: Readonly<Record<string, Cost>> = {
  string_format: (target) => ({ cost: read(target) }),
  string_to_bytes: (_, [text]) => {
    const { min, max } = sizeOf(text);
    return { cost: read(text), resultSize: { min, max: Math.min(max * 4, COST_MAX) } };
  },
  bytes_to_string: (_, [bytes]) => {
    const { min, max } = sizeOf(bytes);
    return { cost: read(bytes), resultSize: { min: Math.floor(min / 4), max } };
  },
  strings_quote: (_, [text]) => {
    const { min, max } = sizeOf(text);
    return { cost: read(text), resultSize: { min: min + 2, max: Math.min(max * 2 + 2, COST_MAX) } };
  },
  starts_with_string: (_, [part]) => ({ cost: read(part) }),
  ends_with_string: (_, [part]) => ({ cost: read(part) }),
  in_list: (_, [, list]) => ({ cost: sizeOf(list) }),
  matches_string: (target, [pattern]) => {
    const text = scaled(plus(sizeOf(target), ONE), STRING_FACTOR);
    return { cost: times(text, scaled(sizeOf(pattern), REGEX_FACTOR)) };
  },
  contains_string: (target, [part]) => ({ cost: times(read(target), read(part)) }),
  add_string: joined,
  add_bytes: joined,
  add_list: (_, [a, b]) => ({ cost: ONE, resultSize: plus(sizeOf(a), sizeOf(b)) }),
  list_slice: (target, [start, end]) => {
    const from = intOf(start, 0);
    return listCall(1, fixed(intOf(end, sizeOf(target).max) - from));
  },
  list_flatten: (target) => listCall(1, sizeOf(target)),
  list_flatten_int: (target, [depth]) => listCall(intOf(depth, COST_MAX), sizeOf(target)),
  lists_range: (_, [count]) => listCall(1, fixed(intOf(count, COST_MAX))),
  list_reverse: (target) => listCall(1, sizeOf(target)),
  list_distinct: (target) => listCall(2, times(sizeOf(target), sizeOf(target))),
  list_sets_contains_list: (_, lists) => ({ cost: setCost(lists, 1) }),
  list_sets_intersects_list: (_, lists) => ({ cost: setCost(lists, 1) }),
  list_sets_equivalent_list: (_, lists) => ({ cost: setCost(lists, 2) }),
};

function sizeOf(node: CostNode | undefined): Estimate {
  return node?.size ?? UNKNOWN;
}

function read(node: CostNode | undefined): Estimate {
  return scaled(sizeOf(node), STRING_FACTOR);
}

function joined(_: CostNode | undefined, [a, b]: readonly CostNode[]): CallCost {
  const resultSize = plus(sizeOf(a), sizeOf(b));
  return { cost: scaled(resultSize, STRING_FACTOR), resultSize };
}

function compared(_: CostNode | undefined, [a, b]: readonly CostNode[]): CallCost {
  const max = Math.min(sizeOf(a).max, sizeOf(b).max);
  return { cost: scaled({ min: max > 0 ? 1 : 0, max }, STRING_FACTOR) };
}

/** A call that makes a list. */
function listCall(factor: number, size: Estimate): CallCost {
  return { cost: plus(plus(scaled(size, factor), ONE), fixed(LIST_BASE)), resultSize: size };
}

function setCost([a, b]: readonly CostNode[], factor: number): Estimate {
  return plus(scaled(times(sizeOf(a), sizeOf(b)), factor), ONE);
}

function intOf(node: CostNode | undefined, otherwise: number): number {
  const expr: Expr | undefined = node?.expr;
  if (expr?.kind !== "constant" || expr.constant.type !== "int") return otherwise;
  return Math.max(Number(expr.constant.value), 0);
}
