/**
 * What an expression may cost at most, from the sizes that its variables can have. The model is
 * cel-go's: one for each step, a tenth per character read, loops times the size of what they run
 * over.
 */
import type { CallExpr, ComprehensionExpr, Expr, MapExpr } from "../ast.ts";
import type { Checked } from "../checker.ts";
import { OLD_ACCUMULATOR } from "../syntax/builder.ts";
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
import { type CostNode, type EstimateSize, KnownSizes } from "./known-sizes.ts";

export interface CallCost {
  readonly cost: Estimate;
  readonly resultSize?: Estimate;
}

export interface CostEstimator {
  readonly size: EstimateSize;
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

/** For the smallest of nothing yet. */
const NONE_YET: Estimate = { min: COST_MAX, max: 0 };

class Coster {
  readonly #checked: Checked;
  readonly #estimator: CostEstimator;
  readonly #sizes: KnownSizes;

  constructor(checked: Checked, estimator: CostEstimator) {
    this.#checked = checked;
    this.#estimator = estimator;
    this.#sizes = new KnownSizes(checked, estimator.size);
  }

  cost(expr: Expr): Estimate {
    const name = this.#sizes.identOf(expr);
    if (name !== undefined) {
      this.#sizes.setPath(expr, this.#sizes.local(name)?.path ?? [name]);
      return ONE;
    }
    switch (expr.kind) {
      case "select": {
        const operand = this.cost(expr.operand);
        if (expr.testOnly) return operand;
        this.#sizes.setPath(expr, [...this.#sizes.path(expr.operand), expr.field]);
        const { kind } = this.#sizes.type(expr.operand);
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
          item = union(item, this.#sizes.sizeOrUnknown(element));
        }
        this.#sizes.setEntries(expr, { container: "list", key: ONE, value: item });
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
      key = union(key, this.#sizes.sizeOrUnknown(entry.key));
      value = union(value, this.#sizes.sizeOrUnknown(entry.value));
    }
    this.#sizes.setEntries(expr, { container: "map", key, value });
    return plus(cost, fixed(MAP_BASE));
  }

  #callCost(expr: CallExpr): Estimate {
    const reference = this.#checked.references.get(expr.id);
    if (expr.name === "dyn" && expr.target === undefined) {
      const [arg] = expr.args as [Expr];
      const cost = this.cost(arg);
      this.#sizes.copySizes(expr, arg);
      return plus(ONE, cost);
    }
    const argCosts = expr.args.map((arg) => this.cost(arg));
    const args = expr.args.map((arg) => this.#sizes.node(arg));
    if (reference?.kind !== "function") return NOTHING;
    const isMember = expr.target !== undefined && !reference.namespaced;
    const targetCost = isMember ? this.cost(expr.target) : NOTHING;
    const target = isMember ? this.#sizes.node(expr.target) : undefined;
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
        resultSize = this.#sizes.entriesOf(indexed)?.value;
        const step = overload === "index_list" ? "@items" : "@values";
        this.#sizes.setPath(expr, [...this.#sizes.path(indexed), step]);
      }
      resultSize ??= this.#sizes.size(expr);
    }
    this.#sizes.setSize(expr, resultSize);
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
        this.#sizes.joinEntries(expr, expr.args[1]!, expr.args[2]!);
        const resultSize = union(then.size ?? UNKNOWN, otherwise.size ?? UNKNOWN);
        return { cost: plus(argCosts[0]!, union(argCosts[1]!, argCosts[2]!)), resultSize };
      }
      case "add_string":
      case "add_bytes":
      case "add_list":
        this.#sizes.joinEntries(expr, expr.args[0]!, expr.args[1]!);
    }
    const known = overloadCost(overload, target, args);
    if (known === undefined) return { cost: plus(ONE, operands) };
    return { ...known, cost: plus(known.cost, operands) };
  }

  #loopCost(expr: ComprehensionExpr): Estimate {
    let cost = plus(this.cost(expr.range), this.cost(expr.accuInit));
    this.#sizes.push(expr.accuVar, this.#sizes.variable(expr.accuInit));
    const { iterVar, iterVar2 } = expr;
    const entries = this.#sizes.entriesOf(expr.range);
    const container = entries?.container ?? this.#sizes.type(expr.range).kind;
    const path = this.#sizes.path(expr.range);
    const step = (name: string, size: Estimate | undefined) => {
      return { path: [...path, name], size, entries: undefined };
    };
    const isList = container === "list";
    const value = step(isList ? "@items" : "@values", entries?.value);
    const key = step(isList ? "@indices" : "@keys", entries?.key);
    this.#sizes.push(iterVar, iterVar2 === undefined && isList ? value : key);
    if (iterVar2 !== undefined) this.#sizes.push(iterVar2, value);
    const turn = plus(this.cost(expr.condition), this.cost(expr.step));
    this.#sizes.pop(iterVar);
    if (iterVar2 !== undefined) this.#sizes.pop(iterVar2);
    cost = plus(cost, this.cost(expr.result));
    this.#sizes.pop(expr.accuVar);
    const turns = this.#sizes.sizeOrUnknown(expr.range);
    this.#resultOfLoop(expr, turns);
    return plus(cost, times(turns, turn));
  }

  #resultOfLoop(expr: ComprehensionExpr, turns: Estimate): void {
    const { kind } = expr.accuInit;
    if (kind === "constant") {
      this.#sizes.setSize(expr, this.#sizes.size(expr.accuInit));
    } else if (kind === "list" || kind === "map") {
      this.#sizes.setSize(expr, turns);
      this.#sizes.setEntries(expr, this.#sizes.entriesOf(expr.step));
    }
  }

  #bindCost(expr: ComprehensionExpr): Estimate {
    const cost = plus(this.cost(expr.range), this.cost(expr.accuInit));
    this.#sizes.push(expr.accuVar, this.#sizes.variable(expr.accuInit));
    const result = this.cost(expr.result);
    this.#sizes.pop(expr.accuVar);
    this.#sizes.copySizes(expr, expr.result);
    return plus(cost, result);
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
