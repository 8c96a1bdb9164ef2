/** Writes src/api/generated/<group>.<version>.ts: the TypeScript types of every fact table. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  type FactTable,
  type FieldFacts,
  parseFacts,
  type StructFacts,
  type TypeExpression,
} from "#api/facts/parse.ts";
import { factTables } from "#api/facts/tables.ts";

const OUT = fileURLToPath(new URL("../src/api/generated/", import.meta.url));

const SCALARS: Readonly<Record<string, string>> = {
  string: "string",
  bool: "boolean",
  int: "number",
  int32: "number",
  int64: "number",
  uint64: "number",
  float64: "number",
  bytes: "string",
  Time: "string",
  MicroTime: "string",
  Duration: "string",
  Quantity: "string",
  IntOrString: "number | string",
  UID: "string",
  NodeName: "string",
  RawExtension: "unknown",
  JSON: "unknown",
  FieldsV1: "Readonly<Record<string, unknown>>",
  JSONSchemaPropsOrArray: "JSONSchemaProps | readonly JSONSchemaProps[]",
  JSONSchemaPropsOrBool: "JSONSchemaProps | boolean",
  JSONSchemaPropsOrStringArray: "JSONSchemaProps | readonly string[]",
  "interface{}": "unknown",
};

const TIMES: ReadonlySet<string> = new Set(["Time", "MicroTime"]);

export function generateTypes(): Map<string, string> {
  const tables = new Map(
    Object.entries(factTables).map(([name, text]) => [name, parseFacts(text)]),
  );
  return new Map([...tables].map(([name, table]) => [`${name}.ts`, moduleOf(table, tables)]));
}

function moduleOf(table: FactTable, tables: ReadonlyMap<string, FactTable>): string {
  const imports = new Map<string, Set<string>>();
  const lines: string[] = [];

  const nameOf = (name: string): string => {
    const scalar = SCALARS[name];
    if (scalar !== undefined) return scalar;
    const dot = name.lastIndexOf(".");
    if (dot < 0) return name;
    const module = name.slice(0, dot);
    const local = name.slice(dot + 1);
    const known = imports.get(module) ?? new Set();
    imports.set(module, known.add(local));
    return `${importAlias(module)}.${local}`;
  };
  const typeOf = (type: TypeExpression): string => {
    switch (type.form) {
      case "pointer":
        return typeOf(type.of);
      case "list":
        return `readonly ${wrap(typeOf(type.of))}[]`;
      case "map":
        return `Readonly<Record<string, ${typeOf(type.of)}>>`;
      case "name":
        return nameOf(type.name);
    }
  };

  for (const [name, { type }] of table.aliases) {
    if (SCALARS[name] === undefined) lines.push(`export type ${name} = ${typeOf(type)};\n`);
  }
  for (const struct of table.structs.values()) {
    if (SCALARS[struct.name] !== undefined) continue;
    const parents = struct.members.flatMap((m) => (m.member === "inline" ? [nameOf(m.type)] : []));
    const fields = struct.members.flatMap((m) => (m.member === "field" ? [m] : []));
    const heritage = parents.length > 0 ? ` extends ${parents.map(local).join(", ")}` : "";
    lines.push(`export interface ${struct.name}${heritage} {`);
    for (const field of fields) lines.push(`  ${fieldLine(field, typeOf, table, tables)}`);
    lines.push("}\n");
  }
  const head = [...imports.keys()].map(
    (module) => `import type * as ${importAlias(module)} from "./${module}.ts";`,
  );
  return `// Made by tools/generate-types.ts from src/api/facts; not to be edited.\n${head.join("\n")}\n\n${lines.join("\n")}`;

  function local(name: string): string {
    return name === "TypeMeta" && table.group !== "meta.k8s.io" ? nameOf("meta.v1.TypeMeta") : name;
  }
}

/** Present in every decoded object: what Go writes even when it is empty. */
function fieldLine(
  field: FieldFacts,
  typeOf: (type: TypeExpression) => string,
  table: FactTable,
  tables: ReadonlyMap<string, FactTable>,
): string {
  const name = /^\w+$/.test(field.name) ? field.name : JSON.stringify(field.name);
  // A time that is not set is written as null unless it is left out.
  const isTime = field.type.form === "name" && TIMES.has(field.type.name) && !field.omitZero;
  const nullable = field.type.form !== "name" || isCollection(field.type.name, table) || isTime;
  const isStruct = field.type.form === "name" && findStruct(field.type.name, table, tables);
  if (isStruct && !field.omitZero) return `readonly ${name}: ${typeOf(field.type)};`;
  if (isTime && field.omitEmpty) return `readonly ${name}?: ${typeOf(field.type)} | null;`;
  if (field.omitEmpty || field.omitZero) return `readonly ${name}?: ${typeOf(field.type)};`;
  return `readonly ${name}: ${typeOf(field.type)}${nullable ? " | null" : ""};`;
}

function isCollection(name: string, table: FactTable): boolean {
  const alias = table.aliases.get(name);
  return alias !== undefined && alias.type.form !== "name";
}

function findStruct(
  name: string,
  table: FactTable,
  tables: ReadonlyMap<string, FactTable>,
): StructFacts | undefined {
  if (SCALARS[name] !== undefined) return undefined;
  const dot = name.lastIndexOf(".");
  if (dot < 0) return table.structs.get(name);
  return tables.get(name.slice(0, dot))?.structs.get(name.slice(dot + 1));
}

function importAlias(module: string): string {
  return module.replace(".", "_");
}

function wrap(type: string): string {
  return /[ |]/.test(type) && !type.startsWith("Readonly<") ? `(${type})` : type;
}

/** Rewrites only what changed, so that builds and watchers see no needless change. */
export function writeGeneratedTypes(): number {
  mkdirSync(OUT, { recursive: true });
  let written = 0;
  for (const [file, text] of generateTypes()) {
    const path = OUT + file;
    if (readIfPresent(path) === text) continue;
    writeFileSync(path, text);
    written += 1;
  }
  return written;
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.stdout.write(`generated types: ${writeGeneratedTypes()} files changed\n`);
}
