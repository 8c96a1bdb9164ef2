/** Expressions in the form in which cel-go's tests write them, so that its cases can be compared. */
import type { Constant, Expr, MapEntry, StructField } from "../ast.ts";

export type Adorn = (node: Expr | MapEntry | StructField) => string;

export function debugString(expr: Expr, adorn: Adorn = kindMark): string {
  const lines = (parts: readonly string[], open: string, close: string) =>
    parts.length === 0 ? open + close : `${open}\n${indent(parts.join(",\n"))}\n${close}`;
  const show = (node: Expr): string => body(node) + adorn(node);
  const body = (node: Expr): string => {
    switch (node.kind) {
      case "constant":
        return showConstant(node.constant);
      case "ident":
        return node.name;
      case "select":
        return `${show(node.operand)}.${node.field}${node.testOnly ? "~test-only~" : ""}`;
      case "call": {
        const target = node.target === undefined ? "" : `${show(node.target)}.`;
        return `${target}${node.name}${lines(node.args.map(show), "(", ")")}`;
      }
      case "list":
        return lines(node.elements.map(show), "[", "]");
      case "map":
        return lines(
          node.entries.map((entry) => {
            const mark = entry.optional ? "?" : "";
            return `${mark}${show(entry.key)}:${show(entry.value)}${adorn(entry)}`;
          }),
          "{",
          "}",
        );
      case "struct":
        return lines(
          node.fields.map((field) => {
            const mark = field.optional ? "?" : "";
            return `${mark}${field.name}:${show(field.value)}${adorn(field)}`;
          }),
          `${node.typeName}{`,
          "}",
        );
      case "comprehension": {
        const parts = [
          ["Variable", node.iterVar],
          ["Target", show(node.range)],
          ["Accumulator", node.accuVar],
          ["Init", show(node.accuInit)],
          ["LoopCondition", show(node.condition)],
          ["LoopStep", show(node.step)],
          ["Result", show(node.result)],
        ].map(([name, text]) => `// ${name}\n${text}`);
        return `__comprehension__(\n${indent(parts.join(",\n"))})`;
      }
      case "unspecified":
        return "";
    }
  };
  return show(expr);
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, "  ");
}

const KINDS: Readonly<Record<Expr["kind"], string>> = {
  constant: "",
  ident: "Expr_IdentExpr",
  select: "Expr_SelectExpr",
  call: "Expr_CallExpr",
  list: "Expr_ListExpr",
  map: "Expr_StructExpr",
  struct: "Expr_StructExpr",
  comprehension: "Expr_ComprehensionExpr",
  unspecified: "",
};
const CONSTANTS: Readonly<Record<Constant["type"], string>> = {
  null: "Null",
  bool: "Bool",
  int: "Int64",
  uint: "Uint64",
  double: "Double",
  string: "String",
  bytes: "Bytes",
};

function kindMark(node: Expr | MapEntry | StructField): string {
  if (!("kind" in node)) return "^#*expr.Expr_CreateStruct_Entry#";
  if (node.kind === "constant") return `^#*expr.Constant_${CONSTANTS[node.constant.type]}Value#`;
  return `^#*expr.${KINDS[node.kind]}#`;
}

function showConstant(constant: Constant): string {
  switch (constant.type) {
    case "null":
      return "null";
    case "uint":
      return `${constant.value}u`;
    case "double":
      return showDouble(constant.value);
    case "string":
      return quote(constant.value);
    case "bytes":
      return `b${quote(new TextDecoder().decode(constant.value))}`;
    default:
      return `${constant.value}`;
  }
}

function showDouble(value: number): string {
  if (Math.abs(value) < 1e6) return (Object.is(value, -0) ? "-" : "") + value.toString();
  return value.toExponential().replace(/e\+(\d)$/, "e+0$1");
}

const ESCAPES: Readonly<Record<string, string>> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\v": "\\v",
  "\f": "\\f",
  "\r": "\\r",
  '"': '\\"',
  "\\": "\\\\",
};

function quote(text: string): string {
  const escaped = text.replaceAll(/["\\\p{C}\p{Z}]/gu, (char) => {
    if (char === " ") return char;
    const code = char.codePointAt(0)!;
    const hex = code < 0x80 ? `\\x${code.toString(16).padStart(2, "0")}` : undefined;
    return ESCAPES[char] ?? hex ?? `\\u${code.toString(16).padStart(4, "0")}`;
  });
  return `"${escaped}"`;
}
