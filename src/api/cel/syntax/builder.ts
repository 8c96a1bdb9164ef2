/** Makes nodes with fresh numbers. */
import type { Constant, Expr, MapEntry, StructField } from "../ast.ts";

export const ACCUMULATOR = "@result";
/** The accumulator's name in older versions, which variables may still not take. */
export const OLD_ACCUMULATOR = "__result__";
export const UNUSED = "#unused";

/** Some macros write their operand twice, so that chains of them double with each link. */
const NODES_MAX = 500_000;

export class TooLarge extends Error {}

export class Builder {
  #count = 0;

  #base(offset: number): { id: number; offset: number } {
    this.#count += 1;
    if (this.#count > NODES_MAX) {
      throw new TooLarge(`macros expand to more than ${NODES_MAX} nodes`);
    }
    return { id: this.#count, offset };
  }

  constant(offset: number, value: Constant): Expr {
    return { kind: "constant", ...this.#base(offset), constant: value };
  }

  bool(offset: number, value: boolean): Expr {
    return this.constant(offset, { type: "bool", value });
  }

  int(offset: number, value: bigint): Expr {
    return this.constant(offset, { type: "int", value });
  }

  string(offset: number, value: string): Expr {
    return this.constant(offset, { type: "string", value });
  }

  unspecified(offset: number): Expr {
    return { kind: "unspecified", ...this.#base(offset) };
  }

  ident(offset: number, name: string): Expr {
    return { kind: "ident", ...this.#base(offset), name };
  }

  accumulator(offset: number): Expr {
    return this.ident(offset, ACCUMULATOR);
  }

  select(offset: number, operand: Expr, field: string, testOnly = false): Expr {
    return { kind: "select", ...this.#base(offset), operand, field, testOnly };
  }

  call(offset: number, name: string, args: readonly Expr[], target?: Expr): Expr {
    return { kind: "call", ...this.#base(offset), name, target, args };
  }

  list(
    offset: number,
    elements: readonly Expr[],
    optionals: ReadonlySet<number> = new Set(),
  ): Expr {
    return { kind: "list", ...this.#base(offset), elements, optionals };
  }

  map(offset: number, entries: readonly MapEntry[]): Expr {
    return { kind: "map", ...this.#base(offset), entries };
  }

  mapEntry(offset: number, key: Expr, value: Expr, optional: boolean): MapEntry {
    return { ...this.#base(offset), key, value, optional };
  }

  struct(offset: number, typeName: string, fields: readonly StructField[]): Expr {
    return { kind: "struct", ...this.#base(offset), typeName, fields };
  }

  structField(offset: number, name: string, value: Expr, optional: boolean): StructField {
    return { ...this.#base(offset), name, value, optional };
  }

  comprehension(offset: number, parts: ComprehensionParts): Expr {
    return { kind: "comprehension", ...this.#base(offset), iterVar2: undefined, ...parts };
  }

  copy(expr: Expr): Expr {
    const own = this.#base(expr.offset);
    switch (expr.kind) {
      case "constant":
      case "ident":
      case "unspecified":
        return { ...expr, ...own };
      case "select":
        return { ...expr, ...own, operand: this.copy(expr.operand) };
      case "call": {
        const target = expr.target === undefined ? undefined : this.copy(expr.target);
        return { ...expr, ...own, target, args: this.#copies(expr.args) };
      }
      case "list":
        return { ...expr, ...own, elements: this.#copies(expr.elements) };
      case "map": {
        const entries = expr.entries.map(({ offset, key, value, optional }) => {
          const { id } = this.#base(offset);
          return { id, offset, key: this.copy(key), value: this.copy(value), optional };
        });
        return { ...expr, ...own, entries };
      }
      case "struct": {
        const fields = expr.fields.map(({ offset, name, value, optional }) => {
          const { id } = this.#base(offset);
          return { id, offset, name, value: this.copy(value), optional };
        });
        return { ...expr, ...own, fields };
      }
      case "comprehension":
        return {
          ...expr,
          ...own,
          range: this.copy(expr.range),
          accuInit: this.copy(expr.accuInit),
          condition: this.copy(expr.condition),
          step: this.copy(expr.step),
          result: this.copy(expr.result),
        };
    }
  }

  #copies(all: readonly Expr[]): Expr[] {
    return all.map((expr) => this.copy(expr));
  }
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
