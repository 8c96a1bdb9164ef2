/** Whether the arguments written out for `format` fit its clauses. */
import type { CallExpr, Expr } from "../ast.ts";
import type { Type, TypeKind } from "../types/type.ts";

export interface FormatFault {
  readonly at: { readonly offset: number };
  readonly message: string;
}

const CLAUSE = /%(?:%|(?:\.(\d+))?(.)?)/gsu;
const INTEGERS: readonly TypeKind[] = ["int", "uint"];

interface Clause {
  readonly kinds: readonly TypeKind[];
  readonly refusal: string;
}

const HEX: Clause = {
  kinds: [...INTEGERS, "string", "bytes"],
  refusal: "only integers, byte buffers, and strings can be formatted as hex",
};
const CLAUSES: Readonly<Record<string, Clause>> = {
  s: {
    kinds: [
      "list",
      "map",
      ...INTEGERS,
      "double",
      "bool",
      "string",
      "timestamp",
      "bytes",
      "duration",
      "type",
      "null",
    ],
    refusal:
      "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
  },
  d: { kinds: INTEGERS, refusal: "decimal clause can only be used on integers" },
  f: { kinds: ["double", "string"], refusal: "fixed-point clause can only be used on doubles" },
  e: { kinds: ["double", "string"], refusal: "scientific clause can only be used on doubles" },
  b: {
    kinds: [...INTEGERS, "bool"],
    refusal: "only integers and bools can be formatted as binary",
  },
  o: { kinds: INTEGERS, refusal: "octal clause can only be used on integers" },
  x: HEX,
  X: HEX,
};

/** The first fault, if format and arguments are both written out. */
export function formatFault(call: CallExpr, typeOf: (expr: Expr) => Type): FormatFault | undefined {
  const [list] = call.args;
  const { target } = call;
  if (target?.kind !== "constant" || target.constant.type !== "string") return undefined;
  if (list?.kind !== "list") return undefined;
  let used = 0;
  for (const [whole, , clause] of target.constant.value.matchAll(CLAUSE)) {
    if (whole === "%%") continue;
    if (clause === undefined) return { at: call, message: "unexpected end of string" };
    const arg = list.elements[used];
    if (arg === undefined) return { at: call, message: `index ${used} out of range` };
    used++;
    const rule = Object.hasOwn(CLAUSES, clause) ? CLAUSES[clause] : undefined;
    if (rule === undefined) {
      const detail = `unrecognized formatting clause "${clause}"`;
      return { at: call, message: `could not parse formatting clause: ${detail}` };
    }
    const wrong = misfit(arg, rule, typeOf);
    if (wrong === undefined) continue;
    const message = `error during formatting: ${rule.refusal}, was given ${typeOf(wrong).name}`;
    return { at: wrong, message };
  }
  if (list.elements.length <= used) return undefined;
  const counts = `expected ${used}, got ${list.elements.length}`;
  return { at: call, message: `too many arguments supplied to string.format (${counts})` };
}

function misfit(arg: Expr, rule: Clause, typeOf: (expr: Expr) => Type): Expr | undefined {
  const { kind } = typeOf(arg);
  if (kind !== "dyn" && !rule.kinds.includes(kind)) return arg;
  if (rule !== CLAUSES.s) return undefined;
  const parts = arg.kind === "list" ? arg.elements : [];
  const entries = arg.kind === "map" ? arg.entries.flatMap(({ key, value }) => [key, value]) : [];
  for (const part of [...parts, ...entries]) {
    const wrong = misfit(part, rule, typeOf);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}
