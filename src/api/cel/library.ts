/** A set of functions and macros. Functions are given as signature and what they do. */
import type { FunctionDeclaration } from "./declarations.ts";
import type { Macro } from "./syntax/macros.ts";
import { parseSignature, type Signature } from "./types/signature.ts";
import type { Type } from "./types/type.ts";
import type { Value } from "./values/value.ts";

/** Called with values of the types that its signature names. */
export type Implementation = (...args: never[]) => Value;

export interface Library {
  readonly functions: Readonly<Record<string, Implementation>>;
  readonly macros?: readonly Macro[];
  /** Types that may be named. */
  readonly types?: readonly Type[];
}

export interface Overload extends Signature {
  readonly call: Implementation;
}

export interface LoadedFunction extends FunctionDeclaration {
  readonly overloads: readonly Overload[];
}

export interface Loaded {
  readonly functions: ReadonlyMap<string, LoadedFunction>;
  readonly macros: readonly Macro[];
  readonly types: ReadonlyMap<string, Type>;
}

export function loadLibraries(libraries: readonly Library[]): Loaded {
  const functions = new Map<string, { name: string; overloads: Overload[] }>();
  const types = new Map<string, Type>();
  for (const library of libraries) {
    for (const [text, call] of Object.entries(library.functions)) {
      const signature = parseSignature(text);
      const overload = { ...signature, call };
      const known = functions.get(signature.name);
      if (known === undefined) {
        functions.set(signature.name, { name: signature.name, overloads: [overload] });
      } else {
        known.overloads.push(overload);
      }
    }
    for (const type of library.types ?? []) types.set(type.name, type);
  }
  return { functions, types, macros: libraries.flatMap(({ macros }) => macros ?? []) };
}
