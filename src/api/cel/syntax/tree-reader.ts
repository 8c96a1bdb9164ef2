/** From the tree of the grammar's rules to the expression that the checker reads, macros expanded. */
import type { Expr, MapEntry, StructField } from "../ast.ts";
import { type Builder, TooLarge } from "./builder.ts";
import type { Faults } from "./faults.ts";
import { DEFAULT_LIMITS, type Limits } from "./limits.ts";
import { readLiteral } from "./literal.ts";
import type { Macro } from "./macros.ts";
import { NO_LOCATION, type Source } from "./source.ts";
import { type Node, node, nodes, token, tokens, unnest } from "./tree.ts";

export interface ParserOptions {
  readonly macros: readonly Macro[];
  /** `a.?b`, `a[?b]`, `[?a]`, `{?a: b}` */
  readonly optionalSyntax: boolean;
  /** a.`b-c` */
  readonly escapedIdentifiers?: boolean;
  readonly limits?: Limits;
}

const RESERVED = new Set(
  (
    "as break const continue else false for function if import in let loop package namespace " +
    "null return true var void while"
  ).split(" "),
);

class TooDeep extends Error {}

export class TreeReader {
  readonly #source: Source;
  readonly #faults: Faults;
  readonly #build: Builder;
  readonly #options: ParserOptions;
  readonly #macros: ReadonlyMap<string, Macro>;
  #depth = 0;

  constructor(source: Source, faults: Faults, build: Builder, options: ParserOptions) {
    this.#source = source;
    this.#faults = faults;
    this.#build = build;
    this.#options = options;
    this.#macros = new Map(
      options.macros.map((macro) => [macroKey(macro.name, macro.argCount, macro.receiver), macro]),
    );
  }

  read(tree: Node): Expr {
    try {
      return this.#visit(node(tree, "e"));
    } catch (error) {
      if (!(error instanceof TooDeep || error instanceof TooLarge)) throw error;
      this.#faults.add(NO_LOCATION, error.message);
      return { kind: "unspecified", id: 0, offset: -1 };
    }
  }

  #visit(tree: Node | undefined): Expr {
    const inner = unnest(tree);
    if (inner === undefined) return this.#build.unspecified(-1);
    if (!DEEPENING.has(inner.form ?? inner.rule)) return this.#visitForm(inner);
    this.#depth++;
    if (this.#depth > (this.#options.limits ?? DEFAULT_LIMITS).depthMax)
      throw new TooDeep("max recursion depth exceeded");
    const expr = this.#visitForm(inner);
    this.#depth--;
    return expr;
  }

  #visitForm(tree: Node): Expr {
    switch (tree.form ?? tree.rule) {
      case "expr":
        return this.#visitConditional(tree);
      case "conditionalOr":
        return this.#visitLogic(tree, "_||_", "||");
      case "conditionalAnd":
        return this.#visitLogic(tree, "_&&_", "&&");
      case "relation":
      case "calc":
        return this.#visitBinary(tree);
      case "unary":
        return this.#build.string(tree.start.offset, "<<error>>");
      case "not":
        return this.#visitUnary(tree, "!_");
      case "negate":
        return this.#visitUnary(tree, "-_");
      case "select":
        return this.#visitSelect(tree);
      case "memberCall":
        return this.#visitMemberCall(tree);
      case "indexing":
        return this.#visitIndex(tree);
      case "ident":
      case "globalCall":
        return this.#visitName(tree);
      case "createList":
        return this.#visitList(tree);
      case "createMap":
        return this.#build.map(token(tree, "op")!.offset, this.#mapEntries(node(tree, "entries")));
      case "createMessage":
        return this.#visitMessage(tree);
      default:
        return this.#visitLiteral(tree);
    }
  }

  #visitConditional(tree: Node): Expr {
    const condition = this.#visit(node(tree, "e"));
    const at = token(tree, "op")!.offset;
    const then = this.#visit(node(tree, "e1"));
    const otherwise = this.#visit(node(tree, "e2"));
    return this.#call(at, "_?_:_", undefined, [condition, then, otherwise]);
  }

  /** Long chains become balanced trees, so that they are not deep. */
  #visitLogic(tree: Node, name: string, operator: string): Expr {
    const terms = [this.#visit(node(tree, "e"))];
    const operators = tokens(tree, "op");
    const rest = nodes(tree, "e1");
    for (const [i] of operators.entries()) {
      const term = rest[i];
      if (term === undefined) {
        return this.#fault(tree.start.offset, `unexpected character, wanted '${operator}'`);
      }
      terms.push(this.#visit(term));
    }
    const balance = (low: number, high: number): Expr => {
      const middle = Math.floor((low + high + 1) / 2);
      const left = middle === low ? terms[middle]! : balance(low, middle - 1);
      const right = middle === high ? terms[middle + 1]! : balance(middle + 1, high);
      return this.#build.call(operators[middle]!.offset, name, [left, right]);
    };
    return balance(0, operators.length - 1);
  }

  #visitBinary(tree: Node): Expr {
    const left = this.#visit(node(tree, "operand"));
    const { text, offset } = token(tree, "op")!;
    const right = this.#visit(node(tree, "e1"));
    const name = text === "in" ? "@in" : `_${text}_`;
    return this.#call(offset, name, undefined, [left, right]);
  }

  #visitUnary(tree: Node, name: string): Expr {
    const operators = tokens(tree, "op");
    const operand = this.#visit(node(tree, "e"));
    if (operators.length % 2 === 0) return operand;
    return this.#call(operators[0]!.offset, name, undefined, [operand]);
  }

  #visitSelect(tree: Node): Expr {
    const operand = this.#visit(node(tree, "operand"));
    const operator = token(tree, "op");
    const id = node(tree, "id");
    if (operator === undefined || id === undefined) {
      return this.#build.unspecified(tree.start.offset);
    }
    const field = this.#identifier(id, id.start.offset) ?? "";
    if (token(tree, "opt") === undefined)
      return this.#build.select(operator.offset, operand, field);
    if (!this.#options.optionalSyntax)
      return this.#fault(operator.offset, "unsupported syntax '.?'");
    const name = this.#build.string(id.start.offset, field);
    return this.#build.call(operator.offset, "_?._", [operand, name]);
  }

  #visitMemberCall(tree: Node): Expr {
    const target = this.#visit(node(tree, "operand"));
    const id = token(tree, "id");
    const open = token(tree, "open");
    if (id === undefined || open === undefined) return this.#build.unspecified(tree.start.offset);
    return this.#call(open.offset, id.text, target, this.#args(tree));
  }

  #visitIndex(tree: Node): Expr {
    const operand = this.#visit(node(tree, "operand"));
    const operator = token(tree, "op");
    if (operator === undefined) return this.#build.unspecified(tree.start.offset);
    const index = this.#visit(node(tree, "index"));
    const optional = token(tree, "opt") !== undefined;
    if (optional && !this.#options.optionalSyntax) {
      return this.#fault(operator.offset, "unsupported syntax '[?'");
    }
    return this.#call(operator.offset, optional ? "_[?_]" : "_[_]", undefined, [operand, index]);
  }

  #visitName(tree: Node): Expr {
    const id = token(tree, "id");
    if (id === undefined) return this.#build.unspecified(tree.start.offset);
    if (RESERVED.has(id.text)) {
      return this.#fault(tree.start.offset, `reserved identifier: ${id.text}`);
    }
    const name = `${token(tree, "dot") === undefined ? "" : "."}${id.text}`;
    if (tree.form === "ident") return this.#build.ident(id.offset, name);
    const at = token(tree, "op")?.offset ?? id.offset;
    return this.#call(at, name, undefined, this.#args(tree));
  }

  #args(tree: Node): Expr[] {
    return nodes(node(tree, "args"), "e").map((arg) => this.#visit(arg));
  }

  #visitList(tree: Node): Expr {
    const elements: Expr[] = [];
    const optionals = new Set<number>();
    for (const [i, element] of nodes(node(tree, "elems"), "elems").entries()) {
      elements.push(this.#visit(node(element, "e")));
      const mark = token(element, "opt");
      if (mark === undefined) continue;
      if (this.#options.optionalSyntax) optionals.add(i);
      else this.#fault(mark.offset, "unsupported syntax '?'");
    }
    return this.#build.list(token(tree, "op")!.offset, elements, optionals);
  }

  #mapEntries(list: Node | undefined): MapEntry[] {
    const keys = nodes(list, "elems");
    const values = nodes(list, "values");
    const entries: MapEntry[] = [];
    for (const [i, colon] of tokens(list, "cols").entries()) {
      const key = keys[i];
      const value = values[i];
      if (key === undefined || value === undefined) return [];
      const optional = token(key, "opt") !== undefined;
      if (optional && !this.#options.optionalSyntax) {
        this.#fault(key.start.offset, "unsupported syntax '?'");
        continue;
      }
      const keyExpr = this.#visit(node(key, "e"));
      entries.push(this.#build.mapEntry(colon.offset, keyExpr, this.#visit(value), optional));
    }
    return entries;
  }

  #visitMessage(tree: Node): Expr {
    const dot = token(tree, "dot") === undefined ? "" : ".";
    const name =
      dot +
      tokens(tree, "id")
        .map(({ text }) => text)
        .join(".");
    const at = token(tree, "op")?.offset ?? tree.start.offset;
    const list = node(tree, "entries");
    const colons = tokens(list, "cols");
    const values = nodes(list, "values");
    const fields: StructField[] = [];
    for (const [i, field] of nodes(list, "elems").entries()) {
      const colon = colons[i];
      const value = values[i];
      if (colon === undefined || value === undefined) return this.#build.struct(at, name, []);
      const optional = token(field, "opt") !== undefined;
      if (optional && !this.#options.optionalSyntax) {
        this.#fault(field.start.offset, "unsupported syntax '?'");
        continue;
      }
      const fieldName = this.#identifier(node(field, "id"), list!.start.offset);
      if (fieldName === undefined) continue;
      fields.push(this.#build.structField(colon.offset, fieldName, this.#visit(value), optional));
    }
    return this.#build.struct(at, name, fields);
  }

  #visitLiteral(tree: Node): Expr {
    const at = tree.start.offset;
    const { constant, fault } = readLiteral(tree);
    const faulty = fault === undefined ? undefined : this.#fault(at, fault);
    if (constant !== undefined) return this.#build.constant(at, constant);
    return faulty ?? this.#build.unspecified(-1);
  }

  #identifier(id: Node | undefined, at: number): string | undefined {
    const found = token(id, "id");
    const escaped = id?.form === "escapedIdentifier";
    if (found === undefined || id?.form === undefined) {
      this.#fault(at, "unsupported ident kind");
      return undefined;
    }
    if (!escaped) return found.text;
    if (this.#options.escapedIdentifiers === true) return found.text.slice(1, -1);
    this.#fault(at, "unsupported syntax: '`'");
    return undefined;
  }

  #call(at: number, name: string, target: Expr | undefined, args: readonly Expr[]): Expr {
    const macro = this.#macros.get(macroKey(name, args.length, target !== undefined));
    const expanded = macro?.expand({ build: this.#build, at, target, args });
    if (expanded === undefined) return this.#build.call(at, name, args, target);
    if (expanded.kind !== "fault") return expanded;
    return this.#fault(expanded.offset, expanded.message);
  }

  #fault(offset: number, message: string): Expr {
    this.#faults.addAt(this.#source, offset, message);
    return this.#build.unspecified(offset);
  }
}

/** The forms that count against the limit of depth. */
const DEEPENING: ReadonlySet<string> = new Set([
  "expr",
  "relation",
  "calc",
  "select",
  "memberCall",
  "indexing",
]);

function macroKey(name: string, argCount: number, receiver: boolean): string {
  return `${name}:${argCount}:${receiver}`;
}
