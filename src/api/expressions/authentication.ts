/**
 * Expressions of authentication: over the claims of a token (`claims`), and over the user that they
 * were mapped to (`user`).
 *
 * Claims are JSON as Go reads it, so every number is a double. Names that are no names of the
 * language are written escaped (`claims.example__dot__com`), at any depth.
 */

import { childrenOf, type Expr } from "#api/cel/ast.ts";
import { compile, type Environment, extendEnvironment } from "#api/cel/environment.ts";
import { createProgram, type Evaluation } from "#api/cel/evaluate/program.ts";
import { ANY, BOOL, mapType, objectType, STRING } from "#api/cel/types/type.ts";
import { JsonList, JsonMap } from "#api/cel/values/json.ts";
import { CelObject, type Value } from "#api/cel/values/value.ts";
import type { ExpressionFault } from "#api/expressions.ts";
import { lazy } from "#lib/lazy.ts";
import { baseEnvironment } from "./base-environment.ts";
import { unescapeFieldName } from "./field-names.ts";
import { fieldTypes, objectTypes } from "./object-types.ts";

type JsonObject = Readonly<Record<string, unknown>>;

export interface ClaimsExpression {
  readonly text: string;
  evaluate(claims: JsonObject): Evaluation;
  /** It reads this claim by its name. */
  mentions(claim: string): boolean;
}

export interface MappedUser {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export interface UserExpression {
  readonly text: string;
  evaluate(user: MappedUser): Evaluation;
}

export type CompiledExpression<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly fault: ExpressionFault };

/** `wanted`: what it must give; anything unless said, as claims may hold anything. */
export function compileClaimsExpression(
  text: string,
  wanted?: "bool",
): CompiledExpression<ClaimsExpression> {
  const compiled = compileIn(claimsEnvironment(), text, wanted);
  if (!compiled.ok) return compiled;
  const { expr, run } = compiled.value;
  return {
    ok: true,
    value: {
      text,
      evaluate: (claims) => run("claims", new NativeMap(claims)),
      mentions: (claim) => selects(expr, "claims", claim),
    },
  };
}

/** A condition. */
export function compileUserExpression(text: string): CompiledExpression<UserExpression> {
  const compiled = compileIn(userEnvironment(), text, "bool");
  if (!compiled.ok) return compiled;
  const { run } = compiled.value;
  return { ok: true, value: { text, evaluate: (user) => run("user", new UserObject(user)) } };
}

const claimsEnvironment = lazy(() =>
  extendEnvironment(baseEnvironment(), { claims: mapType(STRING, ANY) }),
);

const USER_TYPE = objectType("kubernetes.UserInfo");
const userEnvironment = lazy(() =>
  extendEnvironment(
    baseEnvironment(),
    { user: USER_TYPE },
    objectTypes(
      new Map([
        [
          USER_TYPE.name,
          fieldTypes({
            username: "string",
            uid: "string",
            groups: "list(string)",
            extra: "map(string, list(string))",
          }),
        ],
      ]),
    ),
  ),
);

interface Runnable {
  readonly expr: Expr;
  run(variable: string, value: Value): Evaluation;
}

function compileIn(
  environment: Environment,
  text: string,
  wanted: "bool" | undefined,
): CompiledExpression<Runnable> {
  const compiled = compile(environment, text);
  if (!compiled.ok) {
    return {
      ok: false,
      fault: { type: "invalid", detail: `compilation failed: ${compiled.error}` },
    };
  }
  const { expr, type } = compiled.value;
  if (wanted !== undefined && type !== BOOL) {
    return { ok: false, fault: { type: "invalid", detail: `must evaluate to ${wanted}` } };
  }
  const program = createProgram(environment, compiled.value);
  const run = (variable: string, value: Value): Evaluation =>
    program.evaluate({ find: (name) => (name === variable ? value : undefined) });
  return { ok: true, value: { expr, run } };
}

/** Whether `variable.field` or `variable.?field` stands anywhere in it. */
function selects(expr: Expr, variable: string, field: string): boolean {
  const isVariable = (one: Expr | undefined): boolean =>
    one?.kind === "ident" && one.name === variable;
  if (expr.kind === "select" && expr.field === field && isVariable(expr.operand)) return true;
  if (expr.kind === "call" && expr.name === "_?._" && isVariable(expr.args[0])) {
    const [, name] = expr.args;
    if (name?.kind === "constant" && name.constant.type === "string") {
      if (name.constant.value === field) return true;
    }
  }
  return childrenOf(expr).some((child) => selects(child, variable, field));
}

function fromNative(json: unknown): Value {
  if (typeof json === "string" || typeof json === "boolean" || typeof json === "number")
    return json;
  if (Array.isArray(json)) return new JsonList(json, fromNative);
  return typeof json === "object" && json !== null ? new NativeMap(json as JsonObject) : null;
}

/** Names that are no identifiers are written with escapes. */
class NativeMap extends JsonMap {
  constructor(json: JsonObject) {
    super(json, fromNative);
  }

  override find(key: Value): Value | undefined {
    return super.find(typeof key === "string" ? unescapeFieldName(key) : key);
  }
}

class UserObject extends CelObject {
  readonly type = USER_TYPE;
  readonly #user: MappedUser;

  constructor(user: MappedUser) {
    super();
    this.#user = user;
  }

  override field(name: string): Value {
    return fromNative(this.#user[name as keyof MappedUser]);
  }

  equals(other: CelObject): boolean {
    return other === this;
  }
}
