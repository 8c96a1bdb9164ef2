/** What a literal stands for. */
import type { Constant } from "../ast.ts";
import { type Node, token } from "./tree.ts";
import { unquoteBytes, unquoteString } from "./unquote.ts";

/** A fault may come with a constant: what is gone on with so that more faults can be found. */
export interface Literal {
  readonly constant: Constant | undefined;
  readonly fault: string | undefined;
}

/** Neither constant nor fault for a node that is no literal, as errors leave them. */
export function readLiteral(tree: Node): Literal {
  const { text } = token(tree, "tok") ?? { text: "" };
  const sign = token(tree, "sign") === undefined ? "" : "-";
  switch (tree.form) {
    case "int":
      return integer("int", text, sign);
    case "uint":
      return integer("uint", text.slice(0, -1), "");
    case "double": {
      const value = Number(sign + text);
      if (!Number.isFinite(value)) return faulty("invalid double literal");
      return sound({ type: "double", value });
    }
    case "string": {
      const unquoted = unquoteString(text);
      if (unquoted.ok) return sound({ type: "string", value: unquoted.value });
      return faulty(unquoted.error, { type: "string", value: text });
    }
    case "bytes": {
      const unquoted = unquoteBytes(text.slice(1));
      if (unquoted.ok) return sound({ type: "bytes", value: unquoted.value });
      return faulty(unquoted.error, { type: "bytes", value: new Uint8Array() });
    }
    case "true":
    case "false":
      return sound({ type: "bool", value: tree.form === "true" });
    case "null":
      return sound({ type: "null" });
    default:
      return { constant: undefined, fault: undefined };
  }
}

function integer(type: "int" | "uint", digits: string, sign: string): Literal {
  const size = BigInt(digits === "" ? 0 : digits);
  const value = sign === "-" ? -size : size;
  const fits = (type === "int" ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value)) === value;
  return fits ? sound({ type, value }) : faulty(`invalid ${type} literal`);
}

function sound(constant: Constant): Literal {
  return { constant, fault: undefined };
}

function faulty(fault: string, constant?: Constant): Literal {
  return { constant, fault };
}
