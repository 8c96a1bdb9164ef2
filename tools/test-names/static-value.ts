/**
 * The value of an expression as far as it is known without running it: literals, templates, arrays and
 * objects of them, constants, members, `Object.keys` and its like, `map`, local functions that only return.
 * Everything else is UNKNOWN, and so is that part of a template.
 */
import type {
  ArrowFunctionExpression,
  BindingPattern,
  CallExpression,
  Expression,
  Function as FunctionNode,
  ParamPattern,
} from "oxc-parser";

/** Stands in names for what only a run could tell. */
export const UNKNOWN = "…";

/** The names that a block of code can see; their values are computed when they are asked for. */
export class Scope {
  readonly #values = new Map<string, () => unknown>();
  readonly #outer: Scope | undefined;

  constructor(outer?: Scope) {
    this.#outer = outer;
  }

  define(name: string, value: () => unknown): void {
    this.#values.set(name, value);
  }

  valueOf(name: string): unknown {
    const value = this.#values.get(name);
    if (value !== undefined) return value();
    return this.#outer === undefined ? UNKNOWN : this.#outer.valueOf(name);
  }
}

export type FunctionLike = ArrowFunctionExpression | FunctionNode;

/** A function and what it can see. */
export class Closure {
  readonly code: FunctionLike;
  readonly scope: Scope;

  constructor(code: FunctionLike, scope: Scope) {
    this.code = code;
    this.scope = scope;
  }
}

/** Objects are maps of their members. */
export function staticValue(node: Expression, scope: Scope): unknown {
  switch (node.type) {
    case "Literal":
      return "regex" in node ? UNKNOWN : node.value;
    case "TemplateLiteral":
      return node.quasis
        .map(({ value }, at) => {
          const hole = node.expressions[at];
          return (value.cooked ?? "") + (hole ? shown(staticValue(hole, scope)) : "");
        })
        .join("");
    case "Identifier":
      return scope.valueOf(node.name);
    case "ArrayExpression":
      return node.elements.flatMap((element): unknown[] => {
        if (element === null) return [undefined];
        if (element.type !== "SpreadElement") return [staticValue(element, scope)];
        const spread = staticValue(element.argument, scope);
        return Array.isArray(spread) ? spread : [UNKNOWN];
      });
    case "ObjectExpression": {
      const members = new Map<string, unknown>();
      for (const property of node.properties) {
        if (property.type === "SpreadElement" || property.computed) continue;
        const { key, value } = property;
        if (key.type === "Identifier") members.set(key.name, staticValue(value, scope));
        if (key.type === "Literal") members.set(String(key.value), staticValue(value, scope));
      }
      return members;
    }
    case "MemberExpression":
      if (node.computed || node.property.type !== "Identifier") return UNKNOWN;
      return memberOf(staticValue(node.object, scope), node.property.name);
    case "BinaryExpression":
      if (node.operator !== "+") return UNKNOWN;
      return shown(staticValue(node.left, scope)) + shown(staticValue(node.right, scope));
    case "ArrowFunctionExpression":
    case "FunctionExpression":
      return new Closure(node, scope);
    case "CallExpression":
      return valueOfCall(node, scope);
    case "ParenthesizedExpression":
    case "TSAsExpression":
    case "TSSatisfiesExpression":
    case "TSNonNullExpression":
      return staticValue(node.expression, scope);
    default:
      return UNKNOWN;
  }
}

/** A value as a template literal shows it. */
export function shown(value: unknown): string {
  return typeof value === "object" && value !== null ? UNKNOWN : String(value);
}

export function memberOf(value: unknown, name: string): unknown {
  return value instanceof Map && value.has(name) ? value.get(name) : UNKNOWN;
}

/** The scope of a function's body when it is called with these values. */
export function scopeOfCall({ code, scope }: Closure, values: readonly unknown[]): Scope {
  const inner = new Scope(scope);
  for (const [at, parameter] of code.params.entries()) {
    bind(parameter, at < values.length ? values[at] : UNKNOWN, inner);
  }
  return inner;
}

/** Defines the names of a pattern (`name`, `{ name, want }`, `[name, want]`) with the parts of a value. */
export function bind(pattern: ParamPattern | BindingPattern, value: unknown, scope: Scope): void {
  switch (pattern.type) {
    case "Identifier":
      scope.define(pattern.name, () => value);
      break;
    case "ObjectPattern":
      for (const property of pattern.properties) {
        if (property.type === "RestElement" || property.key.type !== "Identifier") continue;
        bind(property.value, memberOf(value, property.key.name), scope);
      }
      break;
    case "ArrayPattern":
      for (const [at, element] of pattern.elements.entries()) {
        if (element !== null) bind(element, Array.isArray(value) ? value[at] : UNKNOWN, scope);
      }
      break;
    case "AssignmentPattern":
      bind(pattern.left, value, scope);
      break;
    default:
      break;
  }
}

export function argumentsOf(node: CallExpression, scope: Scope): unknown[] {
  return node.arguments.map((argument) =>
    argument.type === "SpreadElement" ? UNKNOWN : staticValue(argument, scope),
  );
}

function valueOfCall(node: CallExpression, scope: Scope): unknown {
  const { callee } = node;
  if (callee.type === "Identifier") {
    const called = scope.valueOf(callee.name);
    return called instanceof Closure ? returned(called, argumentsOf(node, scope)) : UNKNOWN;
  }
  if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") return UNKNOWN;
  const method = callee.property.name;
  const [first] = argumentsOf(node, scope);
  if (callee.object.type === "Identifier" && callee.object.name === "Object") {
    if (!(first instanceof Map)) return UNKNOWN;
    if (method === "keys") return [...first.keys()];
    if (method === "values") return [...first.values()];
    return method === "entries" ? [...first] : UNKNOWN;
  }
  if (method !== "map" || !(first instanceof Closure)) return UNKNOWN;
  const rows = staticValue(callee.object, scope);
  return Array.isArray(rows) ? rows.map((row) => returned(first, [row])) : UNKNOWN;
}

function returned(closure: Closure, values: readonly unknown[]): unknown {
  const { body } = closure.code;
  if (body === null) return UNKNOWN;
  if (body.type !== "BlockStatement") return staticValue(body, scopeOfCall(closure, values));
  const [only] = body.body;
  if (only?.type !== "ReturnStatement" || only.argument === null) return UNKNOWN;
  return staticValue(only.argument, scopeOfCall(closure, values));
}
