/** Expressions as trees. Every node has a number of its own and its place in the source. */
export type Expr =
  | ConstantExpr
  | IdentExpr
  | SelectExpr
  | CallExpr
  | ListExpr
  | MapExpr
  | StructExpr
  | ComprehensionExpr
  | UnspecifiedExpr;

interface Base {
  readonly id: number;
  /** UTF-16 offset in the source; -1 if it has no place. */
  readonly offset: number;
}

/** A constant as the language writes it. */
export type Constant =
  | { readonly type: "null" }
  | { readonly type: "bool"; readonly value: boolean }
  | { readonly type: "int" | "uint"; readonly value: bigint }
  | { readonly type: "double"; readonly value: number }
  | { readonly type: "string"; readonly value: string }
  | { readonly type: "bytes"; readonly value: Uint8Array };

export interface ConstantExpr extends Base {
  readonly kind: "constant";
  readonly constant: Constant;
}

export interface IdentExpr extends Base {
  readonly kind: "ident";
  readonly name: string;
}

export interface SelectExpr extends Base {
  readonly kind: "select";
  readonly operand: Expr;
  readonly field: string;
  /** `has(operand.field)` */
  readonly testOnly: boolean;
}

export interface CallExpr extends Base {
  readonly kind: "call";
  readonly name: string;
  readonly target: Expr | undefined;
  readonly args: readonly Expr[];
}

export interface ListExpr extends Base {
  readonly kind: "list";
  readonly elements: readonly Expr[];
  /** Indexes of elements written as `?element`. */
  readonly optionals: ReadonlySet<number>;
}

export interface MapExpr extends Base {
  readonly kind: "map";
  readonly entries: readonly MapEntry[];
}

export interface MapEntry extends Base {
  readonly key: Expr;
  readonly value: Expr;
  readonly optional: boolean;
}

export interface StructExpr extends Base {
  readonly kind: "struct";
  readonly typeName: string;
  readonly fields: readonly StructField[];
}

export interface StructField extends Base {
  readonly name: string;
  readonly value: Expr;
  readonly optional: boolean;
}

/** What macros such as `all` and `map` become: a fold over a list or the keys of a map. */
export interface ComprehensionExpr extends Base {
  readonly kind: "comprehension";
  readonly range: Expr;
  readonly iterVar: string;
  readonly iterVar2: string | undefined;
  readonly accuVar: string;
  readonly accuInit: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

/** Stands where a fault was. */
export interface UnspecifiedExpr extends Base {
  readonly kind: "unspecified";
}

/** The expressions right inside of one. */
export function childrenOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case "select":
      return [expr.operand];
    case "call":
      return expr.target === undefined ? expr.args : [expr.target, ...expr.args];
    case "list":
      return expr.elements;
    case "map":
      return expr.entries.flatMap(({ key, value }) => [key, value]);
    case "struct":
      return expr.fields.map(({ value }) => value);
    case "comprehension":
      return [expr.range, expr.accuInit, expr.condition, expr.step, expr.result];
    default:
      return [];
  }
}
