/** Where expressions are compiled: libraries, variables and types, put together once. */
import { finish, type Steps } from "#lib/async/steps.ts";
import type { Expr } from "./ast.ts";
import { type Checked, check } from "./checker.ts";
import { type Declarations, NO_TYPES, type TypeProvider } from "./declarations.ts";
import { type Library, type Loaded, loadLibraries } from "./library.ts";
import { parse } from "./syntax/parser.ts";
import type { Source } from "./syntax/source.ts";
import { DYN, type Type } from "./types/type.ts";
import { validateLiterals } from "./validators.ts";

export interface Environment {
  readonly declarations: Declarations;
  readonly loaded: Loaded;
  readonly validatesLiterals: boolean;
}

export interface EnvironmentOptions {
  readonly libraries: readonly Library[];
  readonly container?: string;
  readonly homogeneousLiterals?: boolean;
  readonly crossTypeComparisons?: boolean;
  readonly optionalSyntax?: boolean;
  /** Durations, timestamps, patterns and formats that are written out must be valid. */
  readonly validatesLiterals?: boolean;
}

export function createEnvironment(options: EnvironmentOptions): Environment {
  const loaded = loadLibraries(options.libraries);
  return {
    loaded,
    validatesLiterals: options.validatesLiterals ?? false,
    declarations: {
      variables: new Map(),
      functions: loaded.functions,
      provider: withNamedTypes(loaded, NO_TYPES),
      macros: loaded.macros,
      optionalSyntax: options.optionalSyntax ?? false,
      container: options.container ?? "",
      homogeneousLiterals: options.homogeneousLiterals ?? false,
      crossTypeComparisons: options.crossTypeComparisons ?? true,
    },
  };
}

/** The same with more variables, and with types that only they have. */
export function extendEnvironment(
  environment: Environment,
  variables: Readonly<Record<string, Type>>,
  provider: TypeProvider = NO_TYPES,
): Environment {
  const { declarations, loaded } = environment;
  return {
    ...environment,
    declarations: {
      ...declarations,
      variables: new Map([...declarations.variables, ...Object.entries(variables)]),
      provider: both(provider, withNamedTypes(loaded, declarations.provider)),
    },
  };
}

/** The same with more functions. */
export function withLibraries(
  environment: Environment,
  libraries: readonly Library[],
): Environment {
  const added = loadLibraries(libraries);
  const { loaded, declarations } = environment;
  const functions = new Map(loaded.functions);
  for (const [name, { overloads }] of added.functions) {
    const known = functions.get(name)?.overloads ?? [];
    functions.set(name, { name, overloads: [...known, ...overloads] });
  }
  const macros = [...loaded.macros, ...added.macros];
  const types = new Map([...loaded.types, ...added.types]);
  const merged = { functions, macros, types };
  return {
    ...environment,
    loaded: merged,
    declarations: {
      ...declarations,
      functions,
      macros,
      provider: withNamedTypes(merged, declarations.provider),
    },
  };
}

export interface CompiledExpression {
  readonly expr: Expr;
  readonly checked: Checked;
  readonly source: Source;
  /** The type of its value. */
  readonly type: Type;
}

export type Compilation =
  | { readonly ok: true; readonly value: CompiledExpression }
  | { readonly ok: false; readonly error: string };

export function compile(environment: Environment, text: string): Compilation {
  return finish(compileSteps(environment, text));
}

/** In two steps: the first expression of a process also makes the parser's tables. */
export function* compileSteps(environment: Environment, text: string): Steps<Compilation> {
  const { declarations } = environment;
  const { macros, optionalSyntax } = declarations;
  const { source, expr, faults } = parse(text, { macros, optionalSyntax });
  if (faults.count > 0) return { ok: false, error: faults.describe(source) };
  yield;
  const checked = check(expr, source, declarations, faults);
  if (faults.count === 0 && environment.validatesLiterals) {
    validateLiterals(expr, checked, source, faults);
  }
  if (faults.count > 0) return { ok: false, error: faults.describe(source) };
  return { ok: true, value: { expr, checked, source, type: checked.types.get(expr.id) ?? DYN } };
}

function withNamedTypes({ types }: Loaded, inner: TypeProvider): TypeProvider {
  return {
    findType: (name) => types.get(name) ?? inner.findType(name),
    findField: (typeName, field) => inner.findField(typeName, field),
  };
}

function both(first: TypeProvider, second: TypeProvider): TypeProvider {
  return {
    findType: (name) => first.findType(name) ?? second.findType(name),
    findField: (typeName, field) => {
      const known = first.findType(typeName) !== undefined;
      return known ? first.findField(typeName, field) : second.findField(typeName, field);
    },
  };
}
