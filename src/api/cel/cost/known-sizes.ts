/**
 * What is known of the sizes of an expression's parts while their costs are added up: where each comes
 * from, how large it is, how large what it holds.
 */
import type { Expr } from "../ast.ts";
import type { Checked } from "../checker.ts";
import { ACCUMULATOR, OLD_ACCUMULATOR } from "../syntax/builder.ts";
import { DYN, type Type, type TypeKind } from "../types/type.ts";
import { type Estimate, fixed, ONE, UNKNOWN, union } from "./estimate.ts";

/** A part of an expression as estimators see it. */
export interface CostNode {
  /** From a variable: fields, `@items`, `@keys`, `@values`; empty if it comes from elsewhere. */
  readonly path: readonly string[];
  readonly type: Type;
  readonly expr: Expr | undefined;
  readonly size: Estimate | undefined;
}

/** The size of what a path leads to. */
export type EstimateSize = (node: Pick<CostNode, "path" | "type">) => Estimate | undefined;

/** Sizes of what a list or map holds. */
interface EntrySize {
  readonly container: TypeKind;
  readonly key: Estimate;
  readonly value: Estimate;
}

interface LocalVariable {
  readonly path: readonly string[];
  readonly size: Estimate | undefined;
  readonly entries: EntrySize | undefined;
}

export class KnownSizes {
  readonly #checked: Checked;
  readonly #estimate: EstimateSize;
  readonly #paths = new Map<number, readonly string[]>();
  readonly #sizes = new Map<number, Estimate>();
  readonly #entries = new Map<number, EntrySize>();
  readonly #locals = new Map<string, LocalVariable[]>();

  constructor(checked: Checked, estimate: EstimateSize) {
    this.#checked = checked;
    this.#estimate = estimate;
  }

  setPath({ id }: Expr, path: readonly string[]): void {
    this.#paths.set(id, path);
  }

  setSize({ id }: Expr, size: Estimate | undefined): void {
    if (size !== undefined) this.#sizes.set(id, size);
  }

  setEntries({ id }: Expr, entries: EntrySize | undefined): void {
    if (entries !== undefined) this.#entries.set(id, entries);
  }

  variable(expr: Expr): LocalVariable {
    return { path: this.path(expr), size: this.size(expr), entries: this.entriesOf(expr) };
  }

  push(name: string, variable: LocalVariable): void {
    const stack = this.#locals.get(name);
    if (stack === undefined) this.#locals.set(name, [variable]);
    else stack.push(variable);
  }

  pop(name: string): void {
    this.#locals.get(name)!.pop();
  }

  local(name: string): LocalVariable | undefined {
    return this.#locals.get(name)?.at(-1);
  }

  /** The name, for what the checker took as a variable. */
  identOf(expr: Expr): string | undefined {
    const reference = this.#checked.references.get(expr.id);
    if (expr.kind === "struct" || reference?.kind !== "ident") return undefined;
    return reference.name;
  }

  node(expr: Expr): CostNode {
    const path = this.path(expr);
    const isAccumulator = path[0] === ACCUMULATOR || path[0] === OLD_ACCUMULATOR;
    return {
      path: isAccumulator ? [] : path,
      type: this.type(expr),
      expr,
      size: this.size(expr),
    };
  }

  type({ id }: Expr): Type {
    return this.#checked.types.get(id) ?? DYN;
  }

  path(expr: Expr): readonly string[] {
    const name = this.identOf(expr);
    const local = name === undefined ? undefined : this.local(name);
    return local?.path ?? this.#paths.get(expr.id) ?? [];
  }

  sizeOrUnknown(expr: Expr): Estimate {
    return this.size(expr) ?? UNKNOWN;
  }

  size(expr: Expr): Estimate | undefined {
    const known = this.#sizes.get(expr.id) ?? writtenSize(expr);
    if (known !== undefined) return known;
    const type = this.type(expr);
    const estimated = this.#estimate({ path: this.path(expr), type });
    if (estimated !== undefined) {
      this.#sizes.set(expr.id, estimated);
      return estimated;
    }
    if (isScalar(type)) return ONE;
    const name = this.identOf(expr);
    return name === undefined ? undefined : this.local(name)?.size;
  }

  entriesOf(expr: Expr): EntrySize | undefined {
    const known = this.#entries.get(expr.id);
    if (known !== undefined) return known;
    const name = this.identOf(expr);
    return name === undefined ? undefined : this.local(name)?.entries;
  }

  joinEntries(expr: Expr, a: Expr, b: Expr): void {
    const first = this.entriesOf(a);
    const second = this.entriesOf(b);
    if (first === undefined || second === undefined) return;
    const key = union(first.key, second.key);
    const value = union(first.value, second.value);
    this.#entries.set(expr.id, { container: first.container, key, value });
  }

  copySizes(to: Expr, from: Expr): void {
    this.setSize(to, this.size(from));
    this.setEntries(to, this.entriesOf(from));
  }
}

function writtenSize(expr: Expr): Estimate | undefined {
  switch (expr.kind) {
    case "constant": {
      const { constant } = expr;
      if (constant.type === "string") return fixed([...constant.value].length);
      return constant.type === "bytes" ? fixed(constant.value.length) : ONE;
    }
    case "list":
      return fixed(expr.elements.length);
    case "map":
      return fixed(expr.entries.length);
    default:
      return undefined;
  }
}

const SCALARS: ReadonlySet<TypeKind> = new Set([
  "bool",
  "double",
  "duration",
  "int",
  "timestamp",
  "uint",
]);

function isScalar({ kind, name, params }: Type): boolean {
  if (kind === "opaque" && name === "optional_type") return isScalar(params[0]!);
  return SCALARS.has(kind);
}
