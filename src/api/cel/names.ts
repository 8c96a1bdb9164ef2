/** What a name means where it stands: the variables of comprehensions come before what is declared. */
import type { Expr } from "./ast.ts";
import { candidateNames, type Declarations, type FunctionDeclaration } from "./declarations.ts";
import { type Type, typeType } from "./types/type.ts";

/** The variables of a comprehension, and those around it. */
export interface Scope {
  readonly variables: ReadonlyMap<string, Type>;
  readonly outer: Scope | undefined;
}

/** A variable or a type. */
export function findIdent(
  { container, variables, provider }: Declarations,
  innermost: Scope | undefined,
  name: string,
): { readonly name: string; readonly type: Type } | undefined {
  for (const candidate of candidateNames(container, name)) {
    for (let scope = innermost; scope !== undefined; scope = scope.outer) {
      const type = scope.variables.get(candidate);
      if (type !== undefined) return { name: candidate, type };
    }
    const type = variables.get(candidate);
    if (type !== undefined) return { name: candidate, type };
    const named = provider.findType(candidate);
    if (named !== undefined) return { name: candidate, type: typeType(named) };
  }
  return undefined;
}

export function findFunction(
  { container, functions }: Declarations,
  name: string,
): FunctionDeclaration | undefined {
  for (const candidate of candidateNames(container, name)) {
    const found = functions.get(candidate);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** `a.b.c` as one name, if it is nothing but names. */
export function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === "ident") return expr.name;
  if (expr.kind !== "select" || expr.testOnly) return undefined;
  const prefix = qualifiedName(expr.operand);
  return prefix === undefined ? undefined : `${prefix}.${expr.field}`;
}
