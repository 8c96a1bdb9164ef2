/**
 * Schemas of the built-in types, made from the fact tables.
 *
 * Promises:
 * 1. Nothing is read at import. A table is split when one of its types is first asked for, and a
 *    struct's fields are made when they are first looked at.
 * 2. The same name always gives the same StructSchema, so that it can serve as a cache key.
 */
import { type FactTable, parseFacts, type TypeExpression } from "#api/facts/parse.ts";
import { factTables } from "#api/facts/tables.ts";
import { lazy } from "#lib/lazy.ts";
import {
  inlinedField,
  LazyField,
  LazyStruct,
  lazyAny,
  lazyList,
  lazyMap,
  renamed,
  type Use,
  withMapType,
} from "./lazy-schema.ts";
import { ANY, SCALARS } from "./plain-types.ts";
import type { Field, Schema, StructSchema } from "./schema.ts";

/** The schema of a built-in type, by its name in the fact tables (`core.v1.Pod`). */
export function schemaOf(type: string): StructSchema {
  const schema = findSchema(type);
  if (schema === undefined) throw new Error(`no fact table describes ${type}`);
  return schema;
}

/** The schema of a built-in type as a kind carries it: its table is not read before it is asked for. */
export function builtInSchema(type: string): () => StructSchema {
  return () => schemaOf(type);
}

/** The same, or undefined for a name that no table has. */
export function findSchema(type: string): StructSchema | undefined {
  const known = schemas.get(type);
  if (known !== undefined) return known;
  const dot = type.lastIndexOf(".");
  const schema = tableOf(type.slice(0, dot))?.struct(type.slice(dot + 1));
  if (schema !== undefined) schemas.set(type, schema);
  return schema;
}

/** By OpenAPI definition name: `io.k8s.api.core.v1.Pod`. */
export function findSchemaByDefinition(definition: string): StructSchema | undefined {
  const dot = definition.lastIndexOf(".");
  const prefix = definition.slice(0, dot);
  const header = headers().find(({ openapi }) => openapi === prefix);
  return header && tableOf(header.name)?.struct(definition.slice(dot + 1));
}

/** The group and version of the table that a definition is from. */
export function groupVersionOfDefinition(
  definition: string,
): { readonly group: string; readonly version: string } | undefined {
  const prefix = definition.slice(0, definition.lastIndexOf("."));
  return headers().find(({ openapi }) => openapi === prefix);
}

/**
 * By what an object says of itself: group (`""` for core), version and kind. Options of requests
 * may carry any group's version; they and Status are described by the meta table.
 */
export function findSchemaOfKind(
  group: string,
  version: string,
  kind: string,
): StructSchema | undefined {
  const header = headers().find((h) => h.group === group && h.version === version);
  const own = header && tableOf(header.name)?.struct(kind);
  const schema = own ?? (header && tableOf("meta.v1")?.struct(kind));
  return schema?.byName.get("kind")?.number === 0 ? schema : undefined;
}

/** Names of every struct of every table: for tests and for documents that list all types. */
export function allTypeNames(): string[] {
  return Object.keys(factTables).flatMap((name) =>
    tableOf(name)!
      .structNames()
      .map((struct) => `${name}.${struct}`),
  );
}

const PLAIN_USE: Use = { listType: undefined, listKeys: [], mapType: undefined };

class Table {
  readonly #facts: FactTable;
  readonly #structs = new Map<string, StructSchema>();

  constructor(facts: FactTable) {
    this.#facts = facts;
  }

  structNames(): string[] {
    return [...this.#facts.structs.keys()].filter((name) => !Object.hasOwn(ANY, name));
  }

  struct(name: string): StructSchema | undefined {
    const known = this.#structs.get(name);
    if (known !== undefined) return known;
    if (Object.hasOwn(ANY, name) || !this.#facts.structs.has(name))
      return this.#aliasedStruct(name);
    const struct = new LazyStruct(this.#facts, name, () => this.#fieldsOf(name));
    this.#structs.set(name, struct);
    return struct;
  }

  #aliasedStruct(name: string): StructSchema | undefined {
    const type = this.#facts.aliases.get(name)?.type;
    return type?.form === "name" && !Object.hasOwn(SCALARS, type.name)
      ? this.#structNamed(type.name)
      : undefined;
  }

  #structNamed(name: string): StructSchema | undefined {
    const dot = name.lastIndexOf(".");
    if (dot >= 0) return findSchema(name);
    return this.struct(name) ?? (name === "TypeMeta" ? findSchema("meta.v1.TypeMeta") : undefined);
  }

  #fieldsOf(name: string): Field[] {
    const { members } = this.#facts.structs.get(name)!;
    return members.flatMap((member) => {
      if (member.member === "field")
        return [new LazyField(member, () => this.schema(member.type, member))];
      const inlined = this.#structNamed(member.type);
      if (inlined === undefined) throw new Error(`${name} inlines the unknown ${member.type}`);
      return inlined.fields.map((f) =>
        inlinedField(f, { proto: inlined.proto, number: member.number }),
      );
    });
  }

  schema(type: TypeExpression, use: Use): Schema {
    switch (type.form) {
      case "pointer":
        return this.schema(type.of, use);
      case "list":
        return this.#list(type.of, use, undefined);
      case "map":
        return this.#map(type, use, undefined);
      case "name":
        return this.#named(type.name, use);
    }
  }

  #named(name: string, use: Use): Schema {
    const scalar = SCALARS[name];
    if (scalar !== undefined) return { shape: "scalar", ...scalar };
    const any = ANY[name];
    if (any !== undefined) {
      const { goType, struct } = any;
      return lazyAny(goType, struct === undefined ? undefined : () => this.struct(struct)!);
    }

    const dot = name.lastIndexOf(".");
    if (dot >= 0)
      return requireTable(name.slice(0, dot)).schema(
        { form: "name", name: name.slice(dot + 1) },
        use,
      );

    const struct = this.struct(name);
    if (struct !== undefined) return withMapType(struct, use.mapType);
    const alias = this.#facts.aliases.get(name);
    if (alias === undefined) throw new Error(`unknown type ${name} in ${this.#facts.openapi}`);
    const goType = `${this.#facts.version}.${name}`;
    if (alias.type.form === "list") return this.#list(alias.type.of, use, goType, alias.message);
    if (alias.type.form === "map") return this.#map(alias.type, use, goType);
    return renamed(this.schema(alias.type, use), goType);
  }

  #list(of: TypeExpression, use: Use, goType: string | undefined, message = false): Schema {
    return lazyList(() => this.schema(of, PLAIN_USE), use, goType, message);
  }

  #map(type: TypeExpression & { form: "map" }, use: Use, goType: string | undefined): Schema {
    const key = () => this.schema(type.key, PLAIN_USE);
    return lazyMap(key, () => this.schema(type.of, PLAIN_USE), use, goType);
  }
}

// Memory of pure results: a table is the same however often it is read.
const tables = new Map<string, Table>();
const schemas = new Map<string, StructSchema>();

function tableOf(name: string): Table | undefined {
  const known = tables.get(name);
  if (known !== undefined) return known;
  const text = factTables[name];
  if (text === undefined) return undefined;
  const table = new Table(parseFacts(text));
  tables.set(name, table);
  return table;
}

function requireTable(name: string): Table {
  const table = tableOf(name);
  if (table === undefined) throw new Error(`no fact table ${name}`);
  return table;
}

/** The four header lines of every table, read without the rest. */
const headers = lazy(() =>
  Object.entries(factTables).map(([name, text]) => {
    const [group = "", version = "", openapi = ""] = text
      .split("\n", 3)
      .map((line) => line.slice(line.indexOf(" ") + 1));
    return { name, group, version, openapi };
  }),
);
