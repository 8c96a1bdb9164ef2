/** Checks of what is written out in an expression that type-checks: literals that cannot work. */
import { type CallExpr, type Constant, childrenOf, type Expr } from "./ast.ts";
import type { Checked } from "./checker.ts";
import { compilePattern } from "./libraries/regular-expressions.ts";
import { formatFault } from "./libraries/string-format-check.ts";
import type { Faults } from "./syntax/faults.ts";
import type { Source } from "./syntax/source.ts";
import { isSameType, showType, type Type, unwrapOptional } from "./types/type.ts";
import { parseDuration, parseTimestamp, timestamp } from "./values/time.ts";

export function validateLiterals(
  root: Expr,
  { types }: Checked,
  source: Source,
  faults: Faults,
): void {
  const fault = ({ offset }: { readonly offset: number }, message: string) => {
    faults.addAt(source, offset, message);
  };
  const typeOf = ({ id }: Expr) => types.get(id)!;
  const formatted: Expr[] = [];
  const visit = (expr: Expr, inFormat: boolean): void => {
    let inside = inFormat;
    switch (expr.kind) {
      case "call":
        validateArgument(expr, fault);
        if (expr.name === "format") {
          inside = true;
          formatted.push(expr);
        }
        break;
      case "list":
        if (!inFormat) validateElements(expr.elements, expr.optionals, typeOf, fault);
        break;
      case "map":
        if (!inFormat) {
          const { entries } = expr;
          const optionals = new Set(entries.flatMap(({ optional }, i) => (optional ? [i] : [])));
          validateElements(
            entries.map(({ key }) => key),
            new Set(),
            typeOf,
            fault,
          );
          validateElements(
            entries.map(({ value }) => value),
            optionals,
            typeOf,
            fault,
          );
        }
        break;
    }
    for (const child of childrenOf(expr)) visit(child, inside);
  };
  visit(root, false);
  for (const call of formatted) {
    const found = formatFault(call as CallExpr, typeOf);
    if (found !== undefined) fault(found.at, found.message);
  }
}

const CHECKS: Readonly<Record<string, (value: Checkable) => boolean>> = {
  duration: ({ type, value }) => type === "string" && parseDuration(value) !== undefined,
  timestamp: ({ type, value }) => {
    if (type === "int") return succeeds(() => timestamp(value * 1_000_000_000n));
    return type === "string" && parseTimestamp(value) !== undefined;
  },
  matches: ({ type, value }) => {
    return type !== "string" || succeeds(() => compilePattern(value));
  },
};

/** Constants that have a value. */
type Checkable = Exclude<Constant, { readonly type: "null" }>;

function succeeds(attempt: () => unknown): boolean {
  try {
    attempt();
    return true;
  } catch {
    return false;
  }
}

type ReportFault = (at: { readonly offset: number }, message: string) => void;

function validateArgument({ name, args }: CallExpr, fault: ReportFault): void {
  const check = Object.hasOwn(CHECKS, name) ? CHECKS[name] : undefined;
  const [arg] = args;
  if (check === undefined || arg?.kind !== "constant" || arg.constant.type === "null") return;
  if (!check(arg.constant)) fault(arg, `invalid ${name} argument`);
}

function validateElements(
  elements: readonly Expr[],
  optionals: ReadonlySet<number>,
  typeOf: (expr: Expr) => Type,
  fault: ReportFault,
): void {
  let wanted: Type | undefined;
  for (const [i, element] of elements.entries()) {
    const type = optionals.has(i) ? unwrapOptional(typeOf(element)) : typeOf(element);
    wanted ??= type;
    if (isSameType(wanted, type)) continue;
    fault(element, `expected type '${showType(wanted)}' but found '${showType(type)}'`);
    return;
  }
}
