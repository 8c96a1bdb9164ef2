/** One closure per node of an expression. */
import type {
  CallExpr,
  ComprehensionExpr,
  Constant,
  Expr,
  ListExpr,
  MapExpr,
  SelectExpr,
  StructExpr,
} from "../ast.ts";
import type { Checked } from "../checker.ts";
import { LIST_BASE, MAP_BASE, STRUCT_BASE } from "../cost/estimate.ts";
import { candidateNames } from "../declarations.ts";
import type { Environment } from "../environment.ts";
import { optionalIndex } from "../libraries/optionals.ts";
import { indexList, indexMap } from "../libraries/standard.ts";
import type { Overload } from "../library.ts";
import { qualifiedName } from "../names.ts";
import { isSameType } from "../types/type.ts";
import {
  ArrayList,
  CelError,
  CelList,
  CelMap,
  EntryMap,
  mapKey,
  Optional,
  TypeValue,
  typeOf,
  Uint,
  type Value,
} from "../values/value.ts";
import { type CallCosts, languageCallCost } from "./call-cost.ts";
import { chooseOverload } from "./dispatch.ts";
import type { Frame, Step } from "./frame.ts";
import { and, conditional, notStrictlyFalse, or, orValue } from "./lazy.ts";
import { RecordValue } from "./record.ts";
import { hasField, selectField, selectOptional } from "./select.ts";

export class StepCompiler {
  readonly #environment: Environment;
  readonly #checked: Checked;
  readonly #callCosts: CallCosts | undefined;
  readonly #slots = new Map<string, number[]>();
  /** How many variables of comprehensions there are at most. */
  localCount = 0;
  #depth = 0;

  constructor(environment: Environment, checked: Checked, callCosts: CallCosts | undefined) {
    this.#environment = environment;
    this.#checked = checked;
    this.#callCosts = callCosts;
  }

  compile(expr: Expr): Step {
    const reference = this.#checked.references.get(expr.id);
    if (expr.kind !== "struct" && reference?.kind === "ident") return this.#ident(reference.name);
    switch (expr.kind) {
      case "constant": {
        const value = constantValue(expr.constant);
        return () => value;
      }
      case "ident":
        return this.#ident(expr.name);
      case "select":
        return this.#select(expr);
      case "call":
        return this.#call(expr);
      case "list":
        return this.#list(expr);
      case "map":
        return this.#map(expr);
      case "struct":
        return this.#struct(expr, reference?.kind === "ident" ? reference.name : expr.typeName);
      case "comprehension":
        return this.#comprehension(expr);
      case "unspecified":
        throw new Error("an expression with faults is not evaluated");
    }
  }

  #ident(name: string): Step {
    const slot = this.#slots.get(name)?.at(-1);
    if (slot !== undefined) {
      return (frame) => {
        frame.spend(1);
        return frame.local(slot);
      };
    }
    const { container, provider, variables } = this.#environment.declarations;
    const names = candidateNames(container, name);
    for (const candidate of names) {
      const type = variables.has(candidate) ? undefined : provider.findType(candidate);
      if (type === undefined) continue;
      const value = new TypeValue(type);
      return () => value;
    }
    return (frame) => {
      frame.spend(1);
      for (const candidate of names) {
        const value = frame.activation.find(candidate);
        if (value !== undefined) return value;
      }
      throw new CelError(`no such attribute(s): ${names.join(", ")}`);
    };
  }

  #select(expr: SelectExpr): Step {
    const { operand, field, testOnly } = expr;
    const target = this.compile(operand);
    if (testOnly) return (frame) => hasField(target(frame), field);
    const isUnchecked = this.#checked.types.size === 0;
    const name = isUnchecked ? qualifiedName(expr) : undefined;
    return (frame) => {
      // Without the checker's word, a variable may have a name with dots.
      const variable = name === undefined ? undefined : frame.activation.find(name);
      if (variable !== undefined) return variable;
      const value = target(frame);
      frame.spend(1);
      return selectField(value, field);
    };
  }

  #call(expr: CallExpr): Step {
    const special = this.#special(expr);
    if (special !== undefined) return special;
    const reference = this.#checked.references.get(expr.id);
    const resolved = reference?.kind === "function" ? reference : this.#resolve(expr);
    const isMember = expr.target !== undefined && !resolved.namespaced;
    const operands = isMember ? [expr.target, ...expr.args] : expr.args;
    const steps = operands.map((operand) => this.compile(operand));
    const all = this.#environment.loaded.functions.get(resolved.name)?.overloads ?? [];
    const fitting = all.filter(({ id, member }) => {
      return member === isMember && (resolved.overloads?.includes(id) ?? true);
    });
    const sole =
      fitting.length === 1 && this.#isExact(fitting[0]!, operands) ? fitting[0] : undefined;
    const cost = this.#callCosts;
    const { name } = resolved;
    return (frame) => {
      const values = steps.map((step) => step(frame));
      const overload = sole ?? chooseOverload(fitting, values);
      const result = overload.call(...(values as never[]));
      const own = cost?.(name, overload.id, values, result);
      frame.spend(own ?? languageCallCost(overload.id, values, result));
      return result;
    };
  }

  /** The values are of the types that the overload takes, as the checker knows. */
  #isExact({ args }: Overload, operands: readonly Expr[]): boolean {
    return operands.every(({ id }, i) => {
      const type = this.#checked.types.get(id);
      return type !== undefined && isSameType(type, args[i]!);
    });
  }

  /** Without the checker's word: by name, among all overloads. */
  #resolve(expr: CallExpr): {
    name: string;
    overloads: readonly string[] | undefined;
    namespaced: boolean;
  } {
    const { container, functions } = this.#environment.declarations;
    const find = (name: string) =>
      candidateNames(container, name).find((full) => functions.has(full));
    const prefix = expr.target === undefined ? undefined : qualifiedName(expr.target);
    const full = prefix === undefined ? undefined : find(`${prefix}.${expr.name}`);
    if (full !== undefined) return { name: full, overloads: undefined, namespaced: true };
    return { name: find(expr.name) ?? expr.name, overloads: undefined, namespaced: false };
  }

  /** Calls that do not evaluate all operands, or look at faults. */
  #special({ name, target, args }: CallExpr): Step | undefined {
    const step = (i: number) => this.compile(args[i]!);
    if (target !== undefined) {
      const isOr = (name === "or" || name === "orValue") && args.length === 1;
      return isOr ? orValue(this.compile(target), step(0), name) : undefined;
    }
    switch (name) {
      case "_&&_":
        return and(step(0), step(1));
      case "_||_":
        return or(step(0), step(1));
      case "_?_:_":
        return conditional(step(0), step(1), step(2));
      case "@not_strictly_false":
        return notStrictlyFalse(step(0));
      case "_[_]":
        return indexing(step(0), step(1), indexValue);
      case "_[?_]":
        return indexing(step(0), step(1), optionalIndex);
      case "_?._": {
        const operand = step(0);
        const field = step(1);
        return (frame) => {
          const value = operand(frame);
          frame.spend(1);
          return selectOptional(value, field(frame) as string);
        };
      }
      default:
        return undefined;
    }
  }

  #list({ elements, optionals }: ListExpr): Step {
    const steps = elements.map((element) => this.compile(element));
    return (frame) => {
      const values: Value[] = [];
      for (const [i, step] of steps.entries()) {
        const value = step(frame);
        const kept = optionals.has(i) ? present(value) : value;
        if (kept !== undefined) values.push(kept);
      }
      frame.spend(LIST_BASE);
      return new ArrayList(values);
    };
  }

  #map({ entries }: MapExpr): Step {
    const steps = entries.map(({ key, value, optional }) => {
      return { key: this.compile(key), value: this.compile(value), optional };
    });
    return (frame) => {
      const made = new Map<string, [Value, Value]>();
      for (const { key, value, optional } of steps) {
        const keyValue = key(frame);
        const text = typeof keyValue === "number" ? undefined : mapKey(keyValue);
        if (text === undefined) {
          throw new CelError(`unsupported key type: ${typeOf(keyValue).name}`);
        }
        const given = value(frame);
        const kept = optional ? present(given) : given;
        if (kept === undefined) continue;
        if (made.has(text)) throw new CelError(`Failed with repeated key: ${String(keyValue)}`);
        made.set(text, [keyValue, kept]);
      }
      frame.spend(MAP_BASE);
      return new EntryMap(made.values());
    };
  }

  #struct({ fields }: StructExpr, typeName: string): Step {
    const steps = fields.map(({ name, value, optional }) => {
      return { name, value: this.compile(value), optional };
    });
    return (frame) => {
      const made = new Map<string, Value>();
      for (const { name, value, optional } of steps) {
        const given = value(frame);
        const kept = optional ? present(given) : given;
        if (kept !== undefined) made.set(name, kept);
      }
      frame.spend(STRUCT_BASE);
      return new RecordValue(typeName, made);
    };
  }

  #comprehension(expr: ComprehensionExpr): Step {
    const range = this.compile(expr.range);
    const init = this.compile(expr.accuInit);
    const accu = this.#bind(expr.accuVar);
    const first = this.#bind(expr.iterVar);
    const second = expr.iterVar2 === undefined ? undefined : this.#bind(expr.iterVar2);
    const condition = this.compile(expr.condition);
    const step = this.compile(expr.step);
    if (expr.iterVar2 !== undefined) this.#unbind(expr.iterVar2);
    this.#unbind(expr.iterVar);
    const result = this.compile(expr.result);
    this.#unbind(expr.accuVar);
    return (frame) => {
      const over = range(frame);
      frame.locals[accu] = init(frame);
      for (const [key, value] of pairs(over, second !== undefined)) {
        frame.locals[first] = key;
        if (second !== undefined) frame.locals[second] = value;
        if (!condition(frame)) break;
        frame.locals[accu] = attempt(step, frame);
      }
      return result(frame);
    };
  }

  #bind(name: string): number {
    const slot = this.#depth++;
    this.localCount = Math.max(this.localCount, this.#depth);
    const slots = this.#slots.get(name);
    if (slots === undefined) this.#slots.set(name, [slot]);
    else slots.push(slot);
    return slot;
  }

  #unbind(name: string): void {
    this.#slots.get(name)!.pop();
    this.#depth--;
  }
}

function indexing(operand: Step, index: Step, read: (at: Value, index: Value) => Value): Step {
  return (frame) => {
    const at = operand(frame);
    const value = read(at, index(frame));
    frame.spend(1);
    return value;
  };
}

function indexValue(at: Value, index: Value): Value {
  if (at instanceof CelList) return indexList(at, index);
  if (at instanceof CelMap) return indexMap(at, index);
  if (at instanceof Optional) return optionalIndex(at, index);
  throw new CelError("no such overload");
}

/** A fault becomes the value, for a later turn may make up for it. */
function attempt(step: Step, frame: Frame): Value | CelError {
  try {
    return step(frame);
  } catch (error) {
    if (error instanceof CelError) return error;
    throw error;
  }
}

/** What a comprehension runs over: elements or keys, with two variables also what goes with them. */
function* pairs(over: Value, two: boolean): Generator<readonly [Value, Value]> {
  if (over instanceof CelList) {
    for (let i = 0; i < over.size; i++) {
      const element = over.at(i);
      yield two ? [BigInt(i), element] : [element, null];
    }
  } else if (over instanceof CelMap) {
    for (const key of over.keys()) yield [key, two ? over.find(key)! : null];
  } else {
    throw new CelError(`got '${typeOf(over).name}', expected iterable type`);
  }
}

/** What an optional holds; undefined leaves the entry out. */
function present(value: Value): Value | undefined {
  if (!(value instanceof Optional)) {
    throw new CelError(`cannot initialize optional entry from non-optional value ${String(value)}`);
  }
  return value.value;
}

function constantValue(constant: Constant): Value {
  switch (constant.type) {
    case "null":
      return null;
    case "uint":
      return new Uint(constant.value);
    default:
      return constant.value;
  }
}
