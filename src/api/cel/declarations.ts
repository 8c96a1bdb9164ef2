/** What an expression may refer to: variables, functions and the types of objects. */
import type { Macro } from "./syntax/macros.ts";
import type { Signature } from "./types/signature.ts";
import type { Type } from "./types/type.ts";

export interface FunctionDeclaration {
  readonly name: string;
  /** In the order of declaration, which is the order in which they are tried. */
  readonly overloads: readonly Signature[];
}

/** Knows the types of objects and their fields. */
export interface TypeProvider {
  /** The type that a name stands for, of objects and others. */
  findType(name: string): Type | undefined;
  findField(typeName: string, field: string): Type | undefined;
}

export interface Declarations {
  readonly variables: ReadonlyMap<string, Type>;
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  readonly provider: TypeProvider;
  readonly macros: readonly Macro[];
  readonly optionalSyntax: boolean;
  /** Namespace in which names are looked up first; "" for none. */
  readonly container: string;
  /** Lists and maps written out must hold one type. */
  readonly homogeneousLiterals: boolean;
  readonly crossTypeComparisons: boolean;
}

export const NO_TYPES: TypeProvider = {
  findType: () => undefined,
  findField: () => undefined,
};

/** The full names that a name may stand for, innermost namespace first. */
export function candidateNames(container: string, name: string): string[] {
  if (name.startsWith(".")) return [name.slice(1)];
  const names: string[] = [];
  for (
    let space = container;
    space !== "";
    space = space.slice(0, Math.max(space.lastIndexOf("."), 0))
  ) {
    names.push(`${space}.${name}`);
  }
  return [...names, name];
}
