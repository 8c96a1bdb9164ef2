/**
 * Type-checks an expression: gives every part its type, resolves names and overloads, and reports
 * errors. The rules and texts are cel-go's.
 */
import type {
  CallExpr,
  ComprehensionExpr,
  Expr,
  ListExpr,
  MapExpr,
  SelectExpr,
  StructExpr,
} from "./ast.ts";
import type { Declarations, FunctionDeclaration } from "./declarations.ts";
import { findFunction, findIdent, qualifiedName, type Scope } from "./names.ts";
import { matchOverloads } from "./overloads.ts";
import type { Faults } from "./syntax/faults.ts";
import type { Source } from "./syntax/source.ts";
import { Inference, mostGeneral } from "./types/inference.ts";
import {
  BOOL,
  BYTES,
  DOUBLE,
  DYN,
  ERROR,
  INT,
  isDyn,
  isDynOrError,
  isOptional,
  listType,
  mapType,
  NULL,
  optionalType,
  STRING,
  showType,
  type Type,
  UINT,
  unwrapOptional,
} from "./types/type.ts";

export interface Checked {
  readonly types: ReadonlyMap<number, Type>;
  readonly references: ReadonlyMap<number, Reference>;
}

/** What a node turned out to mean. */
export type Reference =
  | { readonly kind: "ident"; readonly name: string }
  | {
      readonly kind: "function";
      readonly name: string;
      readonly overloads: readonly string[];
      /** The target is part of the function's name. */
      readonly namespaced: boolean;
    };

export function check(
  expr: Expr,
  source: Source,
  declarations: Declarations,
  faults: Faults,
): Checked {
  const checker = new Checker(source, declarations, faults);
  checker.check(expr);
  return checker.finish();
}

const CONSTANT_TYPES = {
  null: NULL,
  bool: BOOL,
  int: INT,
  uint: UINT,
  double: DOUBLE,
  string: STRING,
  bytes: BYTES,
} as const;

class Checker {
  readonly #source: Source;
  readonly #declarations: Declarations;
  readonly #faults: Faults;
  readonly #inference = new Inference();
  readonly #types = new Map<number, Type>();
  readonly #references = new Map<number, Reference>();
  #scope: Scope | undefined;

  constructor(source: Source, declarations: Declarations, faults: Faults) {
    this.#source = source;
    this.#declarations = declarations;
    this.#faults = faults;
  }

  finish(): Checked {
    for (const [id, type] of this.#types) {
      this.#types.set(id, this.#inference.substitute(type, true));
    }
    return { types: this.#types, references: this.#references };
  }

  check(expr: Expr): Type {
    const type = this.#infer(expr);
    this.#types.set(expr.id, type);
    return type;
  }

  #infer(expr: Expr): Type {
    switch (expr.kind) {
      case "constant":
        return CONSTANT_TYPES[expr.constant.type];
      case "ident":
        return this.#resolveIdent(expr.id, expr.name) ?? this.#undeclared(expr, expr.name);
      case "select":
        return this.#checkSelect(expr);
      case "call":
        return this.#checkCall(expr);
      case "list":
        return this.#checkList(expr);
      case "map":
        return this.#checkMap(expr);
      case "struct":
        return this.#checkStruct(expr);
      case "comprehension":
        return this.#checkComprehension(expr);
      case "unspecified":
        return ERROR;
    }
  }

  #checkSelect(expr: SelectExpr): Type {
    const qualified = qualifiedName(expr);
    const ident = qualified === undefined ? undefined : this.#resolveIdent(expr.id, qualified);
    if (ident !== undefined) return ident;
    const type = this.#fieldType(expr, expr.operand, expr.field, false);
    return expr.testOnly ? BOOL : this.#inference.substitute(type, false);
  }

  #fieldType(expr: Expr, operand: Expr, field: string, optional: boolean): Type {
    this.check(operand);
    const operandType = this.#inference.substitute(this.#typeOf(operand), false);
    const target = unwrapOptional(operandType);
    const found = this.#selected(expr, target, field);
    return optional || isOptional(operandType) ? optionalType(found) : found;
  }

  #selected(expr: Expr, target: Type, field: string): Type {
    switch (target.kind) {
      case "map":
        return target.params[1]!;
      case "object":
        return this.#lookupField(expr.offset, target.name, field) ?? ERROR;
      case "param":
        this.#inference.assign(DYN, target);
        return DYN;
      default:
        if (!isDynOrError(target)) {
          this.#fault(expr, `type '${showType(target)}' does not support field selection`);
        }
        return DYN;
    }
  }

  #checkCall(expr: CallExpr): Type {
    if (expr.name === "_?._") return this.#checkOptionalSelect(expr);
    for (const arg of expr.args) this.check(arg);
    const { target } = expr;
    if (target === undefined) {
      const found = findFunction(this.#declarations, expr.name);
      if (found === undefined) return this.#undeclared(expr, expr.name);
      return this.#resolve(expr, found, undefined, false);
    }
    const prefix = qualifiedName(target);
    if (prefix !== undefined) {
      const found = findFunction(this.#declarations, `${prefix}.${expr.name}`);
      if (found !== undefined) return this.#resolve(expr, found, undefined, true);
    }
    this.check(target);
    const found = findFunction(this.#declarations, expr.name);
    if (found === undefined) return this.#undeclared(expr, expr.name);
    return this.#resolve(expr, found, target, false);
  }

  #checkOptionalSelect(expr: CallExpr): Type {
    const [operand, field] = expr.args as [Expr, Expr];
    if (field.kind !== "constant" || field.constant.type !== "string") return ERROR;
    const type = this.#fieldType(expr, operand, field.constant.value, true);
    this.#refer(expr, "_?._", ["select_optional_field"], false);
    return this.#inference.substitute(type, false);
  }

  #resolve(
    expr: CallExpr,
    found: FunctionDeclaration,
    target: Expr | undefined,
    namespaced: boolean,
  ): Type {
    const operands = target === undefined ? expr.args : [target, ...expr.args];
    const argTypes = operands.map((operand) => this.#typeOf(operand));
    if (found.name === "_&&_" || found.name === "_||_") {
      return this.#resolveLogic(expr, found, argTypes);
    }
    const call = {
      argTypes,
      member: target !== undefined,
      // Nothing turns them off inside of comprehensions.
      crossTypeComparisons: this.#declarations.crossTypeComparisons || this.#scope !== undefined,
    };
    const match = matchOverloads(found, call, this.#inference);
    if (match !== undefined) {
      this.#refer(expr, found.name, match.overloads, namespaced);
      return match.result;
    }
    const shown = argTypes.map((type) => showType(this.#inference.substitute(type, true)));
    const receiver = target === undefined ? "" : `${shown.shift()}.`;
    const signature = `${receiver}(${shown.join(", ")})`;
    const message = `found no matching overload for '${found.name}' applied to '${signature}'`;
    return this.#fault(expr, message);
  }

  /** Logical operators report each side that is no bool. */
  #resolveLogic(expr: CallExpr, found: FunctionDeclaration, argTypes: readonly Type[]): Type {
    let fits = true;
    for (const [i, type] of argTypes.entries()) {
      if (this.#inference.assign(type, BOOL)) continue;
      this.#mismatch(expr.args[i]!, BOOL, type);
      fits = false;
    }
    if (!fits) return ERROR;
    this.#refer(expr, found.name, [found.overloads[0]!.id], false);
    return BOOL;
  }

  #checkList(expr: ListExpr): Type {
    let element: Type | undefined;
    for (const [i, item] of expr.elements.entries()) {
      this.check(item);
      const type = this.#present(item, expr.optionals.has(i));
      element = this.#join(item, element, type);
    }
    return listType(element ?? this.#inference.fresh());
  }

  #checkMap(expr: MapExpr): Type {
    let key: Type | undefined;
    let value: Type | undefined;
    for (const entry of expr.entries) {
      this.check(entry.key);
      key = this.#join(entry.key, key, this.#typeOf(entry.key));
      this.check(entry.value);
      value = this.#join(entry.value, value, this.#present(entry.value, entry.optional));
    }
    key ??= this.#inference.fresh();
    return mapType(key, value ?? this.#inference.fresh());
  }

  #checkStruct(expr: StructExpr): Type {
    const found = findIdent(this.#declarations, this.#scope, expr.typeName);
    if (found === undefined) return this.#undeclared(expr, expr.typeName);
    this.#references.set(expr.id, { kind: "ident", name: found.name });
    const type = this.#messageType(expr, found.type);
    for (const field of expr.fields) {
      this.check(field.value);
      const name = type.kind === "object" ? type.name : found.name;
      const wanted = this.#lookupField(field.offset, name, field.name) ?? ERROR;
      const given = this.#present(field.value, field.optional);
      if (this.#inference.assign(wanted, given)) continue;
      const shown = `'${showType(wanted)}' but provided type is '${showType(given)}'`;
      this.#fault(field, `expected type of field '${field.name}' is ${shown}`);
    }
    return type;
  }

  #messageType(expr: StructExpr, named: Type): Type {
    if (named.kind === "error") return ERROR;
    if (named.kind !== "type") return this.#fault(expr, `'${named.name}' is not a type`);
    const [type] = named.params;
    if (type?.kind === "object") return type;
    return this.#fault(expr, `'${type?.name ?? ""}' is not a message type`);
  }

  /** The type of a value; of what it holds where the value is written with a question mark. */
  #present(value: Expr, optional: boolean): Type {
    const type = this.#typeOf(value);
    if (!optional) return type;
    if (!isOptional(type) && !isDyn(type)) this.#mismatch(value, optionalType(type), type);
    return unwrapOptional(type);
  }

  #checkComprehension(expr: ComprehensionExpr): Type {
    this.check(expr.range);
    this.check(expr.accuInit);
    const range = this.#inference.substitute(this.#typeOf(expr.range), false);
    const accu = this.#typeOf(expr.accuInit);
    const outer = this.#scope;
    const withAccu: Scope = { variables: new Map([[expr.accuVar, accu]]), outer };
    const { iterVar, iterVar2 } = expr;
    const [first, second] = this.#rangeTypes(expr, range);
    const variables = new Map([[iterVar, first]]);
    if (iterVar2 !== undefined) variables.set(iterVar2, second);
    this.#scope = { variables, outer: withAccu };
    this.check(expr.condition);
    this.#assertType(expr.condition, BOOL);
    this.check(expr.step);
    this.#assertType(expr.step, accu);
    this.#scope = withAccu;
    this.check(expr.result);
    this.#scope = outer;
    return this.#inference.substitute(this.#typeOf(expr.result), false);
  }

  #rangeTypes(expr: ComprehensionExpr, range: Type): [Type, Type] {
    const two = expr.iterVar2 !== undefined;
    switch (range.kind) {
      case "list":
        return two ? [INT, range.params[0]!] : [range.params[0]!, ERROR];
      case "map":
        return [range.params[0]!, range.params[1]!];
      case "dyn":
      case "error":
      case "param":
        this.#inference.assign(DYN, range);
        return [DYN, DYN];
      default: {
        const shown = `expression of type '${showType(range)}'`;
        const message = `${shown} cannot be range of a comprehension (must be list, map, or dynamic)`;
        this.#fault(expr.range, message);
        return [ERROR, ERROR];
      }
    }
  }

  #join(expr: Expr, previous: Type | undefined, current: Type): Type {
    if (previous === undefined) return current;
    if (this.#inference.assign(previous, current)) return mostGeneral(previous, current);
    if (!this.#declarations.homogeneousLiterals) return DYN;
    return this.#mismatch(expr, previous, current);
  }

  #assertType(expr: Expr, wanted: Type): void {
    const given = this.#typeOf(expr);
    if (!this.#inference.assign(wanted, given)) this.#mismatch(expr, wanted, given);
  }

  #typeOf({ id }: Expr): Type {
    return this.#types.get(id) ?? ERROR;
  }

  #resolveIdent(id: number, name: string): Type | undefined {
    const found = findIdent(this.#declarations, this.#scope, name);
    if (found !== undefined) this.#references.set(id, { kind: "ident", name: found.name });
    return found?.type;
  }

  #lookupField(offset: number, typeName: string, field: string): Type | undefined {
    const { provider } = this.#declarations;
    if (provider.findType(typeName) === undefined) {
      this.#fault({ offset }, `unexpected failed resolution of '${typeName}'`);
      return undefined;
    }
    const type = provider.findField(typeName, field);
    if (type === undefined) this.#fault({ offset }, `undefined field '${field}'`);
    return type;
  }

  #refer({ id }: Expr, name: string, overloads: readonly string[], namespaced: boolean): void {
    this.#references.set(id, { kind: "function", name, overloads, namespaced });
  }

  #undeclared(expr: Expr, name: string): Type {
    const { container } = this.#declarations;
    return this.#fault(expr, `undeclared reference to '${name}' (in container '${container}')`);
  }

  #mismatch(expr: Expr, wanted: Type, given: Type): Type {
    return this.#fault(expr, `expected type '${showType(wanted)}' but found '${showType(given)}'`);
  }

  /** Reports an error, and returns the error type. */
  #fault({ offset }: { readonly offset: number }, message: string): Type {
    this.#faults.addAt(this.#source, offset, message);
    return ERROR;
  }
}
