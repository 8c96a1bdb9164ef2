/**
 * Reads the names of all tests out of a test file without running it: those of `describe`, `test` and `it`,
 * joined as Vitest prints them.
 *
 * Names that are made from rows are followed to the rows: `for … of` and `forEach` over arrays of the same
 * file, `test.each` and `describe.each` with `%s` and `$member`, local functions that define tests.
 * What only a run could tell is shown as "…".
 */
import {
  type CallExpression,
  type Directive,
  type Expression,
  parseSync,
  type Statement,
} from "oxc-parser";
import {
  argumentsOf,
  bind,
  Closure,
  memberOf,
  Scope,
  scopeOfCall,
  shown,
  staticValue,
  UNKNOWN,
} from "./static-value.ts";

export interface TestName {
  /** `describe > describe > test`. */
  readonly name: string;
  readonly line: number;
}

const GROUPS = new Set(["describe", "suite"]);
const TESTS = new Set(["test", "it"]);

/** Local functions that define tests may call each other; this deep they are followed. */
const CALLS_DEPTH_MAX = 8;

export function collectTestNames(path: string, source: string): TestName[] {
  const { program, errors } = parseSync(path, source);
  if (errors[0] !== undefined) throw new Error(`${path}: ${errors[0].message}`);
  const collector = new Collector(source);
  const scope = new Scope();
  collector.statements(program.body, { scope, groups: [], depth: 0 });
  collector.uncalledFunctions(scope);
  return [...collector.names.values()];
}

interface Place {
  readonly scope: Scope;
  readonly groups: readonly string[];
  readonly depth: number;
}

class Collector {
  readonly names = new Map<string, TestName>();
  readonly #source: string;
  readonly #functions: Closure[] = [];
  readonly #called = new Set<Closure["code"]>();

  constructor(source: string) {
    this.#source = source;
  }

  statements(body: readonly (Statement | Directive)[], outer: Place): void {
    const place = { ...outer, scope: new Scope(outer.scope) };
    for (const statement of body) this.#declare(statement, place.scope);
    for (const statement of body) this.#statement(statement, place);
  }

  /** Suites that are exported for other files, and what only hooks and tests call. */
  uncalledFunctions(scope: Scope): void {
    for (const closure of this.#functions) {
      if (this.#called.has(closure.code)) continue;
      this.#call(closure, [], { scope, groups: [], depth: 0 });
    }
  }

  #declare(statement: Statement | Directive, scope: Scope): void {
    if (statement.type === "ExportNamedDeclaration" && statement.declaration !== null) {
      this.#declare(statement.declaration, scope);
    }
    if (statement.type === "FunctionDeclaration" && statement.id !== null) {
      const closure = new Closure(statement, scope);
      this.#functions.push(closure);
      scope.define(statement.id.name, () => closure);
    }
    if (statement.type !== "VariableDeclaration") return;
    for (const { id, init } of statement.declarations) {
      if (init === null || init === undefined) continue;
      if (id.type === "Identifier") scope.define(id.name, () => staticValue(init, scope));
      else bind(id, staticValue(init, scope), scope);
    }
  }

  #statement(statement: Statement | Directive, place: Place): void {
    switch (statement.type) {
      case "ExpressionStatement":
        this.#expression(statement.expression, place);
        break;
      case "BlockStatement":
        this.statements(statement.body, place);
        break;
      case "IfStatement":
        this.#statement(statement.consequent, place);
        if (statement.alternate !== null) this.#statement(statement.alternate, place);
        break;
      case "ForOfStatement": {
        const { left, right, body } = statement;
        for (const row of rowsOf(staticValue(right, place.scope))) {
          const scope = new Scope(place.scope);
          if (left.type === "VariableDeclaration") bind(left.declarations[0]!.id, row, scope);
          this.#statement(body, { ...place, scope });
        }
        break;
      }
      case "ForStatement":
      case "WhileStatement":
        this.#statement(statement.body, place);
        break;
      default:
        break;
    }
  }

  #expression(node: Expression, place: Place): void {
    if (node.type !== "CallExpression") return;
    const { callee } = node;
    if (callee.type === "MemberExpression" && callee.property.type === "Identifier") {
      if (callee.property.name === "forEach") this.#forEach(node, callee.object, place);
    }
    const base = baseName(callee);
    if (base !== undefined && (GROUPS.has(base) || TESTS.has(base))) {
      for (const row of eachRows(callee, place.scope)) this.#define(base, node, row, place);
    } else if (callee.type === "Identifier") {
      const called = place.scope.valueOf(callee.name);
      if (called instanceof Closure) this.#call(called, argumentsOf(node, place.scope), place);
    }
  }

  #forEach(node: CallExpression, list: Expression, place: Place): void {
    const [callback] = argumentsOf(node, place.scope);
    if (!(callback instanceof Closure)) return;
    for (const row of rowsOf(staticValue(list, place.scope))) this.#call(callback, [row], place);
  }

  #call(closure: Closure, values: readonly unknown[], place: Place): void {
    const { body } = closure.code;
    if (body === null || place.depth > CALLS_DEPTH_MAX) return;
    this.#called.add(closure.code);
    const inner = { ...place, scope: scopeOfCall(closure, values), depth: place.depth + 1 };
    if (body.type === "BlockStatement") this.statements(body.body, inner);
    else this.#expression(body, inner);
  }

  #define(base: string, node: CallExpression, row: Row | undefined, place: Place): void {
    const [title] = node.arguments;
    if (title === undefined || title.type === "SpreadElement") return;
    const text = shown(staticValue(title, place.scope));
    const groups = [...place.groups, row === undefined ? text : fill(text, row)];
    if (TESTS.has(base)) {
      const name = groups.join(" > ");
      const line = this.#source.slice(0, node.start).split("\n").length;
      this.names.set(`${line} ${name}`, { name, line });
      return;
    }
    const callback = argumentsOf(node, place.scope).find((value) => value instanceof Closure);
    if (callback === undefined) return;
    const values = row === undefined ? [] : Array.isArray(row.value) ? row.value : [row.value];
    this.#call(callback, values, { ...place, groups });
  }
}

interface Row {
  readonly value: unknown;
}

/** The rows of an array; one that is not known for an array that is not. */
function rowsOf(list: unknown): unknown[] {
  return Array.isArray(list) ? list : [UNKNOWN];
}

/** `test` of `test`, `test.skipIf(…)`, `test.each(rows)`, `describe.concurrent`. */
function baseName(callee: Expression): string | undefined {
  if (callee.type === "Identifier") return callee.name;
  if (callee.type === "MemberExpression") return baseName(callee.object);
  return callee.type === "CallExpression" ? baseName(callee.callee) : undefined;
}

/** The rows of `test.each(rows)`; otherwise none, once. */
function eachRows(callee: Expression, scope: Scope): (Row | undefined)[] {
  if (callee.type !== "CallExpression" || callee.callee.type !== "MemberExpression") {
    return [undefined];
  }
  const { property } = callee.callee;
  if (property.type !== "Identifier" || property.name !== "each") return [undefined];
  return rowsOf(argumentsOf(callee, scope)[0]).map((value) => ({ value }));
}

/** A name with the values of its row: `$member` of an object, `%s` of an array or a value. */
function fill(text: string, { value }: Row): string {
  const values: unknown[] = Array.isArray(value) ? [...value] : [value];
  return text
    .replace(/%[sdifjop]/g, () => shown(values.shift()))
    .replace(/\$(\w+(?:\.\w+)*)/g, (_, path: string) =>
      shown(path.split(".").reduce(memberOf, value)),
    );
}
