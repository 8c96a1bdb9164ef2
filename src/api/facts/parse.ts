/** Reads a fact table (format.md) into records. Knows the notation, not what it means. */

export interface FactTable {
  readonly group: string;
  readonly version: string;
  /** Prefix of OpenAPI definition names, `io.k8s.api.core.v1`. */
  readonly openapi: string;
  /** Prefix of protobuf message names, `k8s.io.api.core.v1`. */
  readonly proto: string;
  readonly aliases: ReadonlyMap<string, AliasFacts>;
  readonly structs: ReadonlyMap<string, StructFacts>;
}

export interface AliasFacts {
  readonly type: TypeExpression;
  /** A list that is a message of its own in protobuf. */
  readonly message: boolean;
}

export interface StructFacts {
  readonly name: string;
  readonly atomic: boolean;
  readonly union: UnionFacts | undefined;
  readonly members: readonly (FieldFacts | InlineFacts)[];
}

export interface UnionFacts {
  readonly discriminator: string | undefined;
  readonly fields: readonly string[];
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

/** A line that starts an entry, and the indented lines below it. */
const ENTRY = /^(\S.*)\n((?: .*\n)*)/gm;

/** Members of a struct are read when they are first asked for: most programs need few structs. */
export function parseFacts(text: string): FactTable {
  const header: Record<string, string> = {};
  const aliases = new Map<string, AliasFacts>();
  const structs = new Map<string, StructFacts>();

  for (const [, line = "", body = ""] of text.matchAll(ENTRY)) {
    const words = wordsOf(line);
    const [first = "", second = "", type = ""] = words;
    if (first === "=") {
      aliases.set(second, { type: parseType(type), message: words.includes("message") });
    } else if (Object.hasOwn(HEADER, first)) {
      header[first] = second;
    } else {
      structs.set(first, new ParsedStruct(first, words, body));
    }
  }
  const { group = "", version = "", openapi = "", proto = "" } = header;
  return { group, version, openapi, proto, aliases, structs };
}

const HEADER = { group: 0, version: 0, openapi: 0, proto: 0 };

class ParsedStruct implements StructFacts {
  readonly name: string;
  readonly atomic: boolean;
  readonly union: UnionFacts | undefined;
  readonly #body: string;
  #members: readonly (FieldFacts | InlineFacts)[] | undefined;

  constructor(name: string, flags: readonly string[], body: string) {
    this.name = name;
    this.atomic = flags.includes("atomic");
    this.union = parseUnion(flags);
    this.#body = body;
  }

  get members(): readonly (FieldFacts | InlineFacts)[] {
    this.#members ??= this.#body
      .trimEnd()
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => (line.startsWith("  + ") ? parseInline : parseField)(wordsOf(line)));
    return this.#members;
  }
}

function wordsOf(line: string): readonly string[] {
  return line.match(WORD) ?? [];
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

function parseUnion(flags: readonly string[]): UnionFacts | undefined {
  const argument = flags.find((flag) => flag.startsWith("union("))?.slice("union(".length, -1);
  if (argument === undefined) return undefined;
  const [discriminator = "", fields = ""] = argument.split(":");
  return { discriminator: discriminator || undefined, fields: fields.split(",") };
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
    enum: argument("enum")
      ?.split("|")
      .map((value) => (value === '""' ? "" : value)),
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
