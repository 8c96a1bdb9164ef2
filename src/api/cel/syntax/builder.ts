/** Makes nodes with fresh numbers. */
import type { Constant, Expr, MapEntry, StructField } from "../ast.ts";

export const ACCUMULATOR = "@result";
/** The accumulator's name in older versions, which variables may still not take. */
export const OLD_ACCUMULATOR = "__result__";
export const UNUSED = "#unused";

/** Some macros write their operand twice, so that chains of them double with each link. */
const NODES_MAX = 500_000;

export class TooLarge extends Error {}

export type Builder = ReturnType<typeof createBuilder>;

export function createBuilder() {
  let count = 0;
  const base = (offset: number) => {
    if (++count > NODES_MAX) throw new TooLarge(`macros expand to more than ${NODES_MAX} nodes`);
    return { id: count, offset };
  };

  function constant(offset: number, value: Constant): Expr {
    return { kind: "constant", ...base(offset), constant: value };
  }

  function copy(expr: Expr): Expr {
    const own = base(expr.offset);
    switch (expr.kind) {
      case "constant":
      case "ident":
      case "unspecified":
        return { ...expr, ...own };
      case "select":
        return { ...expr, ...own, operand: copy(expr.operand) };
      case "call": {
        const target = expr.target === undefined ? undefined : copy(expr.target);
        return { ...expr, ...own, target, args: expr.args.map(copy) };
      }
      case "list":
        return { ...expr, ...own, elements: expr.elements.map(copy) };
      case "map": {
        const entries = expr.entries.map((entry) => {
          return {
            ...entry,
            ...base(entry.offset),
            key: copy(entry.key),
            value: copy(entry.value),
          };
        });
        return { ...expr, ...own, entries };
      }
      case "struct": {
        const fields = expr.fields.map((field) => {
          return { ...field, ...base(field.offset), value: copy(field.value) };
        });
        return { ...expr, ...own, fields };
      }
      case "comprehension":
        return {
          ...expr,
          ...own,
          range: copy(expr.range),
          accuInit: copy(expr.accuInit),
          condition: copy(expr.condition),
          step: copy(expr.step),
          result: copy(expr.result),
        };
    }
  }

  return {
    constant,
    copy,
    bool: (offset: number, value: boolean) => constant(offset, { type: "bool", value }),
    int: (offset: number, value: bigint) => constant(offset, { type: "int", value }),
    string: (offset: number, value: string) => constant(offset, { type: "string", value }),
    unspecified: (offset: number): Expr => ({ kind: "unspecified", ...base(offset) }),
    ident: (offset: number, name: string): Expr => ({ kind: "ident", ...base(offset), name }),
    accumulator: (offset: number): Expr => {
      return { kind: "ident", ...base(offset), name: ACCUMULATOR };
    },
    select: (offset: number, operand: Expr, field: string, testOnly = false): Expr => {
      return { kind: "select", ...base(offset), operand, field, testOnly };
    },
    call: (offset: number, name: string, args: readonly Expr[], target?: Expr): Expr => {
      return { kind: "call", ...base(offset), name, target, args };
    },
    list: (
      offset: number,
      elements: readonly Expr[],
      optionals: ReadonlySet<number> = new Set(),
    ): Expr => ({ kind: "list", ...base(offset), elements, optionals }),
    map: (offset: number, entries: readonly MapEntry[]): Expr => {
      return { kind: "map", ...base(offset), entries };
    },
    mapEntry: (offset: number, key: Expr, value: Expr, optional: boolean): MapEntry => {
      return { ...base(offset), key, value, optional };
    },
    struct: (offset: number, typeName: string, fields: readonly StructField[]): Expr => {
      return { kind: "struct", ...base(offset), typeName, fields };
    },
    structField: (offset: number, name: string, value: Expr, optional: boolean): StructField => {
      return { ...base(offset), name, value, optional };
    },
    comprehension: (offset: number, parts: ComprehensionParts): Expr => {
      return { kind: "comprehension", ...base(offset), iterVar2: undefined, ...parts };
    },
  };
}

interface ComprehensionParts {
  readonly range: Expr;
  readonly iterVar: string;
  readonly iterVar2?: string | undefined;
  readonly accuVar: string;
  readonly accuInit: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}
