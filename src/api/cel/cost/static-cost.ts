/**
 * What an expression may cost at most, from the sizes that its variables can have. The model is
 * cel-go's: one for each step, a tenth per character read, loops times the size of what they run
 * over.
 */
import type { CallExpr, ComprehensionExpr, Expr, MapExpr } from "../ast.ts";
import type { Checked } from "../checker.ts";
import { ACCUMULATOR, OLD_ACCUMULATOR } from "../syntax/builder.ts";
import { DYN, type Type, type TypeKind } from "../types/type.ts";
import { overloadCost } from "./call-costs.ts";
import {
  COST_MAX,
  type Estimate,
  fixed,
  LIST_BASE,
  MAP_BASE,
  NOTHING,
  ONE,
  plus,
  STRUCT_BASE,
  times,
  UNKNOWN,
  union,
} from "./estimate.ts";

/** A part of an expression as estimators see it. */
export interface CostNode {
  /** From a variable: fields, `@items`, `@keys`, `@values`; empty if it comes from elsewhere. */
  readonly path: readonly string[];
  readonly type: Type;
  readonly expr: Expr | undefined;
  readonly size: Estimate | undefined;
}

export interface CallCost {
  readonly cost: Estimate;
  readonly resultSize?: Estimate;
}

export interface CostEstimator {
  /** The size of what a path leads to. */
  size(node: Pick<CostNode, "path" | "type">): Estimate | undefined;
  /** What a call costs beside its operands; undefined for the language's own. */
  call(
    name: string,
    overload: string,
    target: CostNode | undefined,
    args: readonly CostNode[],
  ): CallCost | undefined;
}

export function staticCost(expr: Expr, checked: Checked, estimator: CostEstimator): Estimate {
  return new Coster(checked, estimator).cost(expr);
}

/** Sizes of what a list or map holds. */
interface EntrySize {
  readonly container: TypeKind;
  readonly key: Estimate;
  readonly value: Estimate;
}

interface LocalVariable {
  readonly path: readonly string[];
  readonly size: Estimate | undefined;
  readonly entries: EntrySize | undefined;
}

/** For the smallest of nothing yet. */
const NONE_YET: Estimate = { min: COST_MAX, max: 0 };

class Coster {
  readonly #checked: Checked;
  readonly #estimator: CostEstimator;
  readonly #paths = new Map<number, readonly string[]>();
  readonly #sizes = new Map<number, Estimate>();
  readonly #entries = new Map<number, EntrySize>();
  readonly #locals = new Map<string, LocalVariable[]>();

  constructor(checked: Checked, estimator: CostEstimator) {
    this.#checked = checked;
    this.#estimator = estimator;
  }

  cost(expr: Expr): Estimate {
    const name = this.#identOf(expr);
    if (name !== undefined) {
      this.#paths.set(expr.id, this.#local(name)?.path ?? [name]);
      return ONE;
    }
    switch (expr.kind) {
      case "select": {
        const operand = this.cost(expr.operand);
        if (expr.testOnly) return operand;
        this.#paths.set(expr.id, [...this.#path(expr.operand), expr.field]);
        const { kind } = this.#type(expr.operand);
        const looksUp = kind === "map" || kind === "object" || kind === "param";
        return looksUp ? plus(operand, ONE) : operand;
      }
      case "call":
        return this.#callCost(expr);
      case "list": {
        let cost = NOTHING;
        let item = expr.elements.length === 0 ? NOTHING : NONE_YET;
        for (const element of expr.elements) {
          cost = plus(cost, this.cost(element));
          item = union(item, this.#sizeOrUnknown(element));
        }
        this.#entries.set(expr.id, { container: "list", key: ONE, value: item });
        return plus(cost, fixed(LIST_BASE));
      }
      case "map":
        return this.#mapCost(expr);
      case "struct": {
        const cost = expr.fields.reduce((sum, { value }) => plus(sum, this.cost(value)), NOTHING);
        return plus(cost, fixed(STRUCT_BASE));
      }
      case "comprehension":
        return isBind(expr) ? this.#bindCost(expr) : this.#loopCost(expr);
      default:
        return NOTHING;
    }
  }

  #mapCost(expr: MapExpr): Estimate {
    let cost = NOTHING;
    let key = expr.entries.length === 0 ? NOTHING : NONE_YET;
    let value = key;
    for (const entry of expr.entries) {
      cost = plus(plus(cost, this.cost(entry.key)), this.cost(entry.value));
      key = union(key, this.#sizeOrUnknown(entry.key));
      value = union(value, this.#sizeOrUnknown(entry.value));
    }
    this.#entries.set(expr.id, { container: "map", key, value });
    return plus(cost, fixed(MAP_BASE));
  }

  #callCost(expr: CallExpr): Estimate {
    const reference = this.#checked.references.get(expr.id);
    if (expr.name === "dyn" && expr.target === undefined) {
      const [arg] = expr.args as [Expr];
      const cost = this.cost(arg);
      this.#copySizes(expr, arg);
      return plus(ONE, cost);
    }
    const argCosts = expr.args.map((arg) => this.cost(arg));
    const args = expr.args.map((arg) => this.#node(arg));
    if (reference?.kind !== "function") return NOTHING;
    const isMember = expr.target !== undefined && !reference.namespaced;
    const targetCost = isMember ? this.cost(expr.target) : NOTHING;
    const target = isMember ? this.#node(expr.target) : undefined;
    let cost: Estimate = NONE_YET;
    let resultSize: Estimate | undefined;
    for (const overload of reference.overloads) {
      const call = this.#overloadCost(expr, reference.name, overload, target, args, argCosts);
      cost = union(cost, call.cost);
      if (call.resultSize !== undefined) {
        resultSize =
          resultSize === undefined ? call.resultSize : union(resultSize, call.resultSize);
      }
      if (overload === "index_list" || overload === "index_map") {
        const [indexed] = expr.args as [Expr];
        resultSize = this.#entriesOf(indexed)?.value;
        const step = overload === "index_list" ? "@items" : "@values";
        this.#paths.set(expr.id, [...this.#path(indexed), step]);
      }
      resultSize ??= this.#size(expr);
    }
    if (resultSize !== undefined) this.#sizes.set(expr.id, resultSize);
    return plus(targetCost, cost);
  }

  #overloadCost(
    expr: CallExpr,
    name: string,
    overload: string,
    target: CostNode | undefined,
    args: readonly CostNode[],
    argCosts: readonly Estimate[],
  ): CallCost {
    const operands = argCosts.reduce(plus, NOTHING);
    const own = this.#estimator.call(name, overload, target, args);
    if (own !== undefined) return { ...own, cost: plus(own.cost, operands) };
    switch (overload) {
      case "logical_and":
      case "logical_or":
        return { cost: { min: argCosts[0]!.min, max: operands.max } };
      case "conditional": {
        const [, then, otherwise] = args as [CostNode, CostNode, CostNode];
        this.#joinEntries(expr, expr.args[1]!, expr.args[2]!);
        const resultSize = union(then.size ?? UNKNOWN, otherwise.size ?? UNKNOWN);
        return { cost: plus(argCosts[0]!, union(argCosts[1]!, argCosts[2]!)), resultSize };
      }
      case "add_string":
      case "add_bytes":
      case "add_list":
        this.#joinEntries(expr, expr.args[0]!, expr.args[1]!);
    }
    const known = overloadCost(overload, target, args);
    if (known === undefined) return { cost: plus(ONE, operands) };
    return { ...known, cost: plus(known.cost, operands) };
  }

  #loopCost(expr: ComprehensionExpr): Estimate {
    let cost = plus(this.cost(expr.range), this.cost(expr.accuInit));
    this.#push(expr.accuVar, this.#variable(expr.accuInit));
    const { iterVar, iterVar2 } = expr;
    const entries = this.#entriesOf(expr.range);
    const container = entries?.container ?? this.#type(expr.range).kind;
    const path = this.#path(expr.range);
    const step = (name: string, size: Estimate | undefined) => {
      return { path: [...path, name], size, entries: undefined };
    };
    const isList = container === "list";
    const value = step(isList ? "@items" : "@values", entries?.value);
    const key = step(isList ? "@indices" : "@keys", entries?.key);
    this.#push(iterVar, iterVar2 === undefined && isList ? value : key);
    if (iterVar2 !== undefined) this.#push(iterVar2, value);
    const turn = plus(this.cost(expr.condition), this.cost(expr.step));
    this.#pop(iterVar);
    if (iterVar2 !== undefined) this.#pop(iterVar2);
    cost = plus(cost, this.cost(expr.result));
    this.#pop(expr.accuVar);
    const turns = this.#sizeOrUnknown(expr.range);
    this.#resultOfLoop(expr, turns);
    return plus(cost, times(turns, turn));
  }

  #resultOfLoop(expr: ComprehensionExpr, turns: Estimate): void {
    const { kind } = expr.accuInit;
    if (kind === "constant") {
      const size = this.#size(expr.accuInit);
      if (size !== undefined) this.#sizes.set(expr.id, size);
    } else if (kind === "list" || kind === "map") {
      this.#sizes.set(expr.id, turns);
      const entries = this.#entriesOf(expr.step);
      if (entries !== undefined) this.#entries.set(expr.id, entries);
    }
  }

  #bindCost(expr: ComprehensionExpr): Estimate {
    const cost = plus(this.cost(expr.range), this.cost(expr.accuInit));
    this.#push(expr.accuVar, this.#variable(expr.accuInit));
    const result = this.cost(expr.result);
    this.#pop(expr.accuVar);
    this.#copySizes(expr, expr.result);
    return plus(cost, result);
  }

  #variable(expr: Expr): LocalVariable {
    return { path: this.#path(expr), size: this.#size(expr), entries: this.#entriesOf(expr) };
  }

  #push(name: string, variable: LocalVariable): void {
    const stack = this.#locals.get(name);
    if (stack === undefined) this.#locals.set(name, [variable]);
    else stack.push(variable);
  }

  #pop(name: string): void {
    this.#locals.get(name)!.pop();
  }

  #local(name: string): LocalVariable | undefined {
    return this.#locals.get(name)?.at(-1);
  }

  /** The name, for what the checker took as a variable. */
  #identOf(expr: Expr): string | undefined {
    const reference = this.#checked.references.get(expr.id);
    if (expr.kind === "struct" || reference?.kind !== "ident") return undefined;
    return reference.name;
  }

  #node(expr: Expr): CostNode {
    const path = this.#path(expr);
    const isAccumulator = path[0] === ACCUMULATOR || path[0] === OLD_ACCUMULATOR;
    return {
      path: isAccumulator ? [] : path,
      type: this.#type(expr),
      expr,
      size: this.#size(expr),
    };
  }

  #type({ id }: Expr): Type {
    return this.#checked.types.get(id) ?? DYN;
  }

  #path(expr: Expr): readonly string[] {
    const name = this.#identOf(expr);
    const local = name === undefined ? undefined : this.#local(name);
    return local?.path ?? this.#paths.get(expr.id) ?? [];
  }

  #sizeOrUnknown(expr: Expr): Estimate {
    return this.#size(expr) ?? UNKNOWN;
  }

  #size(expr: Expr): Estimate | undefined {
    const known = this.#sizes.get(expr.id) ?? writtenSize(expr);
    if (known !== undefined) return known;
    const type = this.#type(expr);
    const estimated = this.#estimator.size({ path: this.#path(expr), type });
    if (estimated !== undefined) {
      this.#sizes.set(expr.id, estimated);
      return estimated;
    }
    if (isScalar(type)) return ONE;
    const name = this.#identOf(expr);
    return name === undefined ? undefined : this.#local(name)?.size;
  }

  #entriesOf(expr: Expr): EntrySize | undefined {
    const known = this.#entries.get(expr.id);
    if (known !== undefined) return known;
    const name = this.#identOf(expr);
    return name === undefined ? undefined : this.#local(name)?.entries;
  }

  #joinEntries(expr: Expr, a: Expr, b: Expr): void {
    const first = this.#entriesOf(a);
    const second = this.#entriesOf(b);
    if (first === undefined || second === undefined) return;
    const key = union(first.key, second.key);
    const value = union(first.value, second.value);
    this.#entries.set(expr.id, { container: first.container, key, value });
  }

  #copySizes(to: Expr, from: Expr): void {
    const size = this.#size(from);
    if (size !== undefined) this.#sizes.set(to.id, size);
    const entries = this.#entriesOf(from);
    if (entries !== undefined) this.#entries.set(to.id, entries);
  }
}

/** A variable given a name, which is written as a loop that never runs. */
function isBind({ range, condition, accuVar }: ComprehensionExpr): boolean {
  return (
    range.kind === "list" &&
    range.elements.length === 0 &&
    condition.kind === "constant" &&
    condition.constant.type === "bool" &&
    !condition.constant.value &&
    accuVar !== OLD_ACCUMULATOR
  );
}

function writtenSize(expr: Expr): Estimate | undefined {
  switch (expr.kind) {
    case "constant": {
      const { constant } = expr;
      if (constant.type === "string") return fixed([...constant.value].length);
      return constant.type === "bytes" ? fixed(constant.value.length) : ONE;
    }
    case "list":
      return fixed(expr.elements.length);
    case "map":
      return fixed(expr.entries.length);
    default:
      return undefined;
  }
}

const SCALARS: ReadonlySet<TypeKind> = new Set([
  "bool",
  "double",
  "duration",
  "int",
  "timestamp",
  "uint",
]);

function isScalar({ kind, name, params }: Type): boolean {
  if (kind === "opaque" && name === "optional_type") return isScalar(params[0]!);
  return SCALARS.has(kind);
}
