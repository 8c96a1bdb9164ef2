/**
 * Functions as one-line signatures: `add_int64 _+_(int, int) -> int`, and for methods
 * `contains_string string.contains(string) -> bool`. Single capital letters are type parameters.
 */
import {
  ANY,
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listType,
  mapType,
  NULL,
  objectType,
  opaqueType,
  optionalType,
  paramType,
  STRING,
  TIMESTAMP,
  type Type,
  typeType,
  UINT,
} from "./type.ts";

export interface Signature {
  readonly id: string;
  readonly name: string;
  readonly member: boolean;
  /** The receiver first, for methods. */
  readonly args: readonly Type[];
  readonly result: Type;
  readonly typeParams: readonly string[];
}

const NAMED: ReadonlyMap<string, Type> = new Map([
  ["dyn", DYN],
  ["any", ANY],
  ["null", NULL],
  ["bool", BOOL],
  ["int", INT],
  ["uint", UINT],
  ["double", DOUBLE],
  ["string", STRING],
  ["bytes", BYTES],
  ["timestamp", TIMESTAMP],
  ["duration", DURATION],
]);

export function parseSignature(text: string): Signature {
  const [head, resultText] = text.split(" -> ") as [string, string];
  const space = head.indexOf(" ");
  const id = head.slice(0, space);
  const call = head.slice(space + 1);
  const open = argsStart(call);
  const args = splitArgs(call.slice(open + 1, -1)).map(parseType);
  const callee = call.slice(0, open);
  const receiver = receiverOf(callee);
  const name = receiver === undefined ? callee : callee.slice(receiver.length + 1);
  const all = receiver === undefined ? args : [parseType(receiver), ...args];
  const result = parseType(resultText);
  const typeParams = new Set<string>();
  for (const type of [...all, result]) collectParams(type, typeParams);
  return {
    id,
    name,
    member: receiver !== undefined,
    args: all,
    result,
    typeParams: [...typeParams],
  };
}

export function parseType(text: string): Type {
  const open = text.indexOf("(");
  if (open === -1) {
    if (/^[A-Z]$/.test(text)) return paramType(text);
    return NAMED.get(text) ?? (text.startsWith("net.") ? opaqueType(text) : objectType(text));
  }
  const name = text.slice(0, open);
  const params = splitArgs(text.slice(open + 1, -1)).map(parseType);
  switch (name) {
    case "list":
      return listType(params[0]!);
    case "map":
      return mapType(params[0]!, params[1]!);
    case "type":
      return typeType(params[0]);
    case "optional":
      return optionalType(params[0]!);
    default:
      return opaqueType(name, ...params);
  }
}

/** Methods are written behind the type of their receiver and a dot; namespaces are no types. */
function receiverOf(callee: string): string | undefined {
  const marked = callee.indexOf(")."); // a receiver such as list(A)
  if (marked !== -1) return callee.slice(0, marked + 1);
  const dot = callee.lastIndexOf(".");
  if (dot <= 0) return undefined;
  const head = callee.slice(0, dot);
  const isType = NAMED.has(head) || /^[A-Z]$/.test(head) || OBJECT_NAME.test(head);
  return isType ? head : undefined;
}

/** Types of libraries have a capital letter behind a dot, which namespaces of functions have not. */
const OBJECT_NAME = /\.[A-Z]\w*$/;

function argsStart(call: string): number {
  let depth = 0;
  for (let i = call.length - 1; i >= 0; i--) {
    if (call[i] === ")") depth++;
    else if (call[i] === "(" && --depth === 0) return i;
  }
  throw new Error(`no arguments: ${call}`);
}

function splitArgs(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "(") depth++;
    else if (text[i] === ")") depth--;
    else if (text[i] === "," && depth === 0) {
      parts.push(text.slice(start, i).trim());
      start = i + 1;
    }
  }
  const last = text.slice(start).trim();
  return last === "" ? parts : [...parts, last];
}

function collectParams({ kind, name, params }: Type, into: Set<string>): void {
  if (kind === "param") into.add(name);
  for (const param of params) collectParams(param, into);
}
