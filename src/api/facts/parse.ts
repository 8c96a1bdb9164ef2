/** Reads a fact table (format.md) into records. Knows the notation, not what it means. */

export interface FactTable {
  readonly group: string;
  readonly version: string;
  /** Prefix of OpenAPI definition names, `io.k8s.api.core.v1`. */
  readonly openapi: string;
  /** Prefix of protobuf message names, `k8s.io.api.core.v1`. */
  readonly proto: string;
  readonly aliases: ReadonlyMap<string, TypeExpression>;
  readonly structs: ReadonlyMap<string, StructFacts>;
}

export interface StructFacts {
  readonly name: string;
  readonly atomic: boolean;
  readonly members: readonly (FieldFacts | InlineFacts)[];
}

export interface FieldFacts {
  readonly member: "field";
  readonly name: string;
  readonly number: number;
  readonly type: TypeExpression;
  readonly omitEmpty: boolean;
  readonly omitZero: boolean;
  readonly required: boolean;
  readonly listType: "atomic" | "set" | "map" | undefined;
  readonly listKeys: readonly string[];
  readonly mapType: "granular" | "atomic" | undefined;
  readonly patchStrategies: readonly string[];
  readonly patchMergeKey: string | undefined;
  readonly enum: readonly string[] | undefined;
  readonly default: string | undefined;
}

export interface InlineFacts {
  readonly member: "inline";
  readonly type: string;
  readonly number: number;
}

export type TypeExpression =
  | { readonly form: "pointer" | "list"; readonly of: TypeExpression }
  | { readonly form: "map"; readonly key: TypeExpression; readonly of: TypeExpression }
  | { readonly form: "name"; readonly name: string };

/** A word, or a flag whose argument may have spaces. */
const WORD = /[^\s(]+\([^)]*\)|\S+/g;

export function parseFacts(text: string): FactTable {
  const header: Record<string, string> = {};
  const aliases = new Map<string, TypeExpression>();
  const structs = new Map<string, StructFacts>();
  let members: (FieldFacts | InlineFacts)[] = [];

  for (const [index, line] of text.split("\n").entries()) {
    if (line === "") continue;
    const words: readonly string[] = line.match(WORD) ?? [];
    if (index < 4) header[words[0]!] = words[1] ?? "";
    else if (line.startsWith("= ")) aliases.set(words[1]!, parseType(words[2]!));
    else if (line.startsWith("  + ")) members.push(parseInline(words));
    else if (line.startsWith("  ")) members.push(parseField(words));
    else {
      members = [];
      const name = words[0]!;
      structs.set(name, { name, atomic: words.includes("atomic"), members });
    }
  }
  const { group = "", version = "", openapi = "", proto = "" } = header;
  return { group, version, openapi, proto, aliases, structs };
}

export function parseType(text: string): TypeExpression {
  if (text.startsWith("*")) return { form: "pointer", of: parseType(text.slice(1)) };
  if (text.startsWith("[]")) return { form: "list", of: parseType(text.slice(2)) };
  if (text.startsWith("{")) {
    const close = text.indexOf("}");
    const key = parseType(text.slice(1, close));
    return { form: "map", key, of: parseType(text.slice(close + 1)) };
  }
  return { form: "name", name: text };
}

function parseInline([, type, number]: readonly string[]): InlineFacts {
  return { member: "inline", type: type!, number: numberOf(number ?? "-") };
}

function parseField([name, number, type, ...flags]: readonly string[]): FieldFacts {
  const argument = (flag: string): string | undefined =>
    flags.find((f) => f.startsWith(`${flag}(`))?.slice(flag.length + 1, -1);
  const [strategies = "", mergeKey] = argument("patch")?.split(":") ?? [];
  const keys = argument("map");
  const omit = flags.find((f) => /^~?0?$/.test(f)) ?? "";
  return {
    member: "field",
    name: name!,
    number: numberOf(number!),
    type: parseType(type!),
    omitEmpty: omit.includes("~"),
    omitZero: omit.includes("0"),
    required: flags.includes("!"),
    listType: listTypeOf(flags, keys),
    listKeys: keys?.split(",") ?? [],
    mapType: flags.includes("mapatomic")
      ? "atomic"
      : flags.includes("granular")
        ? "granular"
        : undefined,
    patchStrategies: strategies === "" ? [] : strategies.split(","),
    patchMergeKey: mergeKey,
    enum: argument("enum")?.split("|"),
    default: argument("default"),
  };
}

function listTypeOf(flags: readonly string[], keys: string | undefined): FieldFacts["listType"] {
  if (keys !== undefined) return "map";
  if (flags.includes("set")) return "set";
  return flags.includes("atomic") ? "atomic" : undefined;
}

function numberOf(text: string): number {
  return text === "-" ? 0 : Number(text);
}
