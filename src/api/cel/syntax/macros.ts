/**
 * Calls that are rewritten while parsing. A macro either gives the expression that stands for the
 * call, or a fault, or declines, and then the call is an ordinary one.
 */
import type { Expr } from "../ast.ts";
import { ACCUMULATOR, type Builder, OLD_ACCUMULATOR, UNUSED } from "./builder.ts";

export interface Macro {
  readonly name: string;
  readonly argCount: number;
  readonly receiver: boolean;
  expand(call: MacroCall): Expr | MacroFault | undefined;
}

export interface MacroCall {
  readonly build: Builder;
  /** The place of the call, which all made-up nodes take. */
  readonly at: number;
  readonly target: Expr | undefined;
  readonly args: readonly Expr[];
}

export interface MacroFault {
  readonly kind: "fault";
  readonly offset: number;
  readonly message: string;
}

export const STANDARD_MACROS: readonly Macro[] = [
  { name: "has", argCount: 1, receiver: false, expand: expandHas },
  receiver("all", 2, quantifier("all", 1)),
  receiver("exists", 2, quantifier("exists", 1)),
  receiver("exists_one", 2, quantifier("existsOne", 1)),
  receiver("map", 2, (call) => expandMap(call, undefined, call.args[1]!)),
  receiver("map", 3, (call) => expandMap(call, call.args[1]!, call.args[2]!)),
  receiver("filter", 2, (call) => expandMap(call, call.args[1]!, call.args[0]!)),
];

/** The forms that see index and element, or key and value. */
export const TWO_VARIABLE_MACROS: readonly Macro[] = [
  receiver("all", 3, quantifier("all", 2)),
  receiver("exists", 3, quantifier("exists", 2)),
  receiver("exists_one", 3, quantifier("existsOne", 2)),
  receiver("existsOne", 3, quantifier("existsOne", 2)),
  ...[3, 4].flatMap((count) => [
    receiver("transformList", count, (call) =>
      transform(call, call.build.list(call.at, []), (accu, value) => {
        return call.build.call(call.at, "_+_", [accu, call.build.list(call.at, [value])]);
      }),
    ),
    receiver("transformMap", count, (call) =>
      transform(call, call.build.map(call.at, []), (accu, value, key) => {
        const keyIdent = call.build.ident(call.at, key);
        return call.build.call(call.at, "cel.@mapInsert", [accu, keyIdent, value]);
      }),
    ),
    receiver("transformMapEntry", count, (call) =>
      transform(call, call.build.map(call.at, []), (accu, value) => {
        return call.build.call(call.at, "cel.@mapInsert", [accu, value]);
      }),
    ),
  ]),
];

export const BIND_MACRO: Macro = receiver("bind", 3, ({ build, at, target, args }) => {
  if (target?.kind !== "ident" || target.name !== "cel") return undefined;
  const [name, value, result] = args as [Expr, Expr, Expr];
  if (name.kind !== "ident") {
    return fault(name, "cel.bind() variable names must be simple identifiers");
  }
  return bind(build, at, name.name, value, result);
});

export const OPTIONAL_MACROS: readonly Macro[] = [
  receiver("optMap", 2, (call) => expandOptional(call, "optMap")),
  receiver("optFlatMap", 2, (call) => expandOptional(call, "optFlatMap")),
];

/** `list.sortBy(e, key)`: pairs each element with its key and sorts by the keys. */
export const SORT_BY_MACRO: Macro = receiver("sortBy", 2, ({ build, at, target, args }) => {
  const [name, key] = args as [Expr, Expr];
  const list = target!;
  const sortable = ["list", "select", "ident", "comprehension", "call"].includes(list.kind);
  if (!sortable) {
    const message =
      "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
    return fault(list, message);
  }
  const variable = "@__sortBy_input__";
  const input = () => build.ident(at, variable);
  const keys = expandMap({ build, at, target: input(), args: [name, key] }, undefined, key);
  if (keys.kind === "fault") return keys;
  const sorted = build.call(at, "@sortByAssociatedKeys", [keys], input());
  return bind(build, at, variable, list, sorted);
});

function receiver(
  name: string,
  argCount: number,
  expand: (call: MacroCall) => Expr | MacroFault | undefined,
): Macro {
  return { name, argCount, receiver: true, expand };
}

function fault({ offset }: Expr, message: string): MacroFault {
  return { kind: "fault", offset, message };
}

function expandHas({ build, at, args }: MacroCall): Expr | MacroFault {
  const [arg] = args as [Expr];
  if (arg.kind !== "select") return fault(arg, "invalid argument to has() macro");
  return build.select(at, arg.operand, arg.field, true);
}

function isAccumulator(name: string): boolean {
  return name === ACCUMULATOR || name === OLD_ACCUMULATOR;
}

const OVERWRITES = "iteration variable overwrites accumulator variable";

interface Variables {
  readonly kind: "variables";
  readonly iterVar: string;
  readonly iterVar2?: string;
}

function variablesOf(
  args: readonly Expr[],
  count: number,
  notName: string,
): Variables | MacroFault {
  const idents = args.slice(0, count);
  const names: string[] = [];
  for (const ident of idents) {
    if (ident.kind !== "ident") return fault(ident, notName);
    names.push(ident.name);
  }
  const [iterVar, iterVar2] = names as [string, string?];
  if (iterVar === iterVar2) return fault(idents[1]!, `duplicate variable name: ${iterVar}`);
  const overwriting = idents.find((_, i) => isAccumulator(names[i]!));
  if (overwriting !== undefined) return fault(overwriting, OVERWRITES);
  return { kind: "variables", iterVar, ...(iterVar2 !== undefined && { iterVar2 }) };
}

function quantifier(type: "all" | "exists" | "existsOne", variableCount: number) {
  return ({ build, at, target, args }: MacroCall): Expr | MacroFault => {
    const variables = variablesOf(args, variableCount, "argument must be a simple name");
    if (variables.kind === "fault") return variables;
    const { iterVar, iterVar2 } = variables;
    const predicate = args[variableCount]!;
    const accu = () => build.accumulator(at);
    const call = (name: string, ...callArgs: Expr[]) => build.call(at, name, callArgs);
    const common = { range: target!, iterVar, iterVar2, accuVar: ACCUMULATOR };
    switch (type) {
      case "all":
        return build.comprehension(at, {
          ...common,
          accuInit: build.bool(at, true),
          condition: call("@not_strictly_false", accu()),
          step: call("_&&_", accu(), predicate),
          result: accu(),
        });
      case "exists":
        return build.comprehension(at, {
          ...common,
          accuInit: build.bool(at, false),
          condition: call("@not_strictly_false", call("!_", accu())),
          step: call("_||_", accu(), predicate),
          result: accu(),
        });
      case "existsOne":
        return build.comprehension(at, {
          ...common,
          accuInit: build.int(at, 0n),
          condition: build.bool(at, true),
          step: call("_?_:_", predicate, call("_+_", accu(), build.int(at, 1n)), accu()),
          result: call("_==_", accu(), build.int(at, 1n)),
        });
    }
  };
}

function expandMap(
  { build, at, target, args }: MacroCall,
  filter: Expr | undefined,
  value: Expr,
): Expr | MacroFault {
  const variables = variablesOf(args, 1, "argument is not an identifier");
  if (variables.kind === "fault") return variables;
  const accuInit = build.list(at, []);
  const condition = build.bool(at, true);
  const appended = build.call(at, "_+_", [build.accumulator(at), build.list(at, [value])]);
  const step =
    filter === undefined
      ? appended
      : build.call(at, "_?_:_", [filter, appended, build.accumulator(at)]);
  return build.comprehension(at, {
    range: target!,
    iterVar: variables.iterVar,
    accuVar: ACCUMULATOR,
    accuInit,
    condition,
    step,
    result: build.accumulator(at),
  });
}

function transform(
  { build, at, target, args }: MacroCall,
  accuInit: Expr,
  add: (accu: Expr, value: Expr, key: string) => Expr,
): Expr | MacroFault {
  const variables = variablesOf(args, 2, "argument must be a simple name");
  if (variables.kind === "fault") return variables;
  const filter = args.length === 4 ? args[2] : undefined;
  const added = add(build.accumulator(at), args.at(-1)!, variables.iterVar);
  return build.comprehension(at, {
    range: target!,
    iterVar: variables.iterVar,
    iterVar2: variables.iterVar2,
    accuVar: ACCUMULATOR,
    accuInit,
    condition: build.bool(at, true),
    step:
      filter === undefined
        ? added
        : build.call(at, "_?_:_", [filter, added, build.accumulator(at)]),
    result: build.accumulator(at),
  });
}

function bind(build: Builder, at: number, name: string, value: Expr, result: Expr): Expr {
  return build.comprehension(at, {
    range: build.list(at, []),
    iterVar: UNUSED,
    accuVar: name,
    accuInit: value,
    condition: build.bool(at, false),
    step: build.ident(at, name),
    result,
  });
}

function expandOptional(
  { build, at, target, args }: MacroCall,
  macro: "optMap" | "optFlatMap",
): Expr | MacroFault {
  const [name, body] = args as [Expr, Expr];
  if (name.kind !== "ident") {
    return fault(name, `${macro}() variable name must be a simple identifier`);
  }
  const present = build.call(at, "hasValue", [], target!);
  const value = build.call(at, "value", [], build.copy(target!));
  const bound = bind(build, at, name.name, value, body);
  const then = macro === "optMap" ? build.call(at, "optional.of", [bound]) : bound;
  return build.call(at, "_?_:_", [present, then, build.call(at, "optional.none", [])]);
}
