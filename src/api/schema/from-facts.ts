/**
 * Schemas of the built-in types, made from the fact tables.
 *
 * Promises:
 * 1. Nothing is read at import. A table is split when one of its types is first asked for, and a
 *    struct's fields are made when they are first looked at.
 * 2. The same name always gives the same StructSchema, so that it can serve as a cache key.
 */
import {
  type FactTable,
  type FieldFacts,
  parseFacts,
  type TypeExpression,
} from "#api/facts/parse.ts";
import { factTables } from "#api/facts/tables.ts";
import type {
  AnySchema,
  Field,
  InlinedBy,
  ListSchema,
  MapSchema,
  PatchFacts,
  Scalar,
  ScalarSchema,
  Schema,
  StatedFacts,
  StructSchema,
  UnionFacts,
} from "./schema.ts";

/** The schema of a built-in type, by its name in the fact tables (`core.v1.Pod`). */
export function schemaOf(type: string): StructSchema {
  const schema = findSchema(type);
  if (schema === undefined) throw new Error(`no fact table describes ${type}`);
  return schema;
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

const SCALARS: Readonly<Record<string, { scalar: Scalar; goType: string }>> = {
  string: { scalar: "string", goType: "string" },
  bool: { scalar: "bool", goType: "bool" },
  int: { scalar: "int", goType: "int" },
  int32: { scalar: "int32", goType: "int32" },
  int64: { scalar: "int64", goType: "int64" },
  float64: { scalar: "float64", goType: "float64" },
  bytes: { scalar: "bytes", goType: "[]uint8" },
  Time: { scalar: "Time", goType: "v1.Time" },
  MicroTime: { scalar: "MicroTime", goType: "v1.MicroTime" },
  Duration: { scalar: "Duration", goType: "v1.Duration" },
  Quantity: { scalar: "Quantity", goType: "resource.Quantity" },
  IntOrString: { scalar: "IntOrString", goType: "intstr.IntOrString" },
  UID: { scalar: "UID", goType: "types.UID" },
  NodeName: { scalar: "string", goType: "types.NodeName" },
};

/** Types that hold any JSON; some of them may also be a JSON schema. */
const ANY: Readonly<Record<string, { goType: string; struct?: string }>> = {
  "interface{}": { goType: "interface {}" },
  RawExtension: { goType: "runtime.RawExtension" },
  FieldsV1: { goType: "v1.FieldsV1" },
  JSON: { goType: "v1.JSON" },
  JSONSchemaPropsOrArray: { goType: "v1.JSONSchemaPropsOrArray", struct: "JSONSchemaProps" },
  JSONSchemaPropsOrBool: { goType: "v1.JSONSchemaPropsOrBool", struct: "JSONSchemaProps" },
  JSONSchemaPropsOrStringArray: {
    goType: "v1.JSONSchemaPropsOrStringArray",
    struct: "JSONSchemaProps",
  },
};

/** What a field says about the list, map or struct that stands in it. */
type Use = Pick<FieldFacts, "listType" | "listKeys" | "mapType">;
const PLAIN_USE: Use = { listType: undefined, listKeys: [], mapType: undefined };

class Table {
  readonly #facts: FactTable;
  readonly #structs = new Map<string, StructSchema>();

  constructor(facts: FactTable) {
    this.#facts = facts;
  }

  structNames(): string[] {
    return [...this.#facts.structs.keys()].filter((name) => !(name in ANY));
  }

  struct(name: string): StructSchema | undefined {
    const known = this.#structs.get(name);
    if (known !== undefined) return known;
    if (name in ANY || !this.#facts.structs.has(name)) return this.#aliasedStruct(name);
    const struct = new StructFromFacts(this.#facts, name, () => this.#fieldsOf(name));
    this.#structs.set(name, struct);
    return struct;
  }

  #aliasedStruct(name: string): StructSchema | undefined {
    const type = this.#facts.aliases.get(name)?.type;
    return type?.form === "name" && !(type.name in SCALARS)
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
      if (member.member === "field") return [new FieldFromFacts(member, this)];
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
    if (any !== undefined) return new AnyFromFacts(any.goType, this, any.struct);

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

  #list(of: TypeExpression, use: Use, goType: string | undefined, message = false): ListSchema {
    const item = lazily(() => this.schema(of, PLAIN_USE));
    return {
      shape: "list",
      listType: use.listType ?? "atomic",
      keys: use.listKeys,
      message,
      get item() {
        return item();
      },
      get goType() {
        return goType ?? `[]${item().goType}`;
      },
    };
  }

  #map(type: TypeExpression & { form: "map" }, use: Use, goType: string | undefined): MapSchema {
    const value = lazily(() => this.schema(type.of, PLAIN_USE));
    const key = lazily(() => this.schema(type.key, PLAIN_USE).goType);
    return {
      shape: "map",
      atomic: use.mapType === "atomic",
      get value() {
        return value();
      },
      get goType() {
        return goType ?? `map[${key()}]${value().goType}`;
      },
    };
  }
}

class StructFromFacts implements StructSchema {
  readonly shape = "struct";
  readonly name: string;
  readonly proto: string;
  readonly goType: string;
  readonly atomic: boolean;
  readonly union: UnionFacts | undefined;
  readonly preserveUnknown = false;
  readonly #fields: () => readonly Field[];
  readonly #byName: () => ReadonlyMap<string, Field>;

  constructor(facts: FactTable, name: string, fields: () => readonly Field[]) {
    this.name = `${facts.openapi}.${name}`;
    this.proto = `${facts.proto}.${name}`;
    this.goType = `${facts.version}.${name}`;
    this.atomic = facts.structs.get(name)!.atomic;
    this.union = facts.structs.get(name)!.union;
    this.#fields = lazily(fields);
    this.#byName = lazily(() => new Map(this.fields.map((field) => [field.name, field])));
  }

  get fields(): readonly Field[] {
    return this.#fields();
  }

  get byName(): ReadonlyMap<string, Field> {
    return this.#byName();
  }
}

class FieldFromFacts implements Field {
  readonly name: string;
  readonly number: number;
  readonly pointer: boolean;
  readonly omitEmpty: boolean;
  readonly omitZero: boolean;
  readonly required: boolean;
  readonly enum: readonly string[] | undefined;
  readonly default: unknown;
  readonly patch: PatchFacts | undefined;
  readonly stated: StatedFacts;
  readonly inlinedBy: readonly InlinedBy[] = [];
  readonly #schema: () => Schema;

  constructor(facts: FieldFacts, table: Table) {
    this.name = facts.name;
    this.number = facts.number;
    this.pointer = facts.type.form === "pointer";
    this.omitEmpty = facts.omitEmpty;
    this.omitZero = facts.omitZero;
    this.required = facts.required;
    this.enum = facts.enum;
    this.default = facts.default === undefined ? undefined : JSON.parse(facts.default);
    this.patch = patchFactsOf(facts);
    this.stated = { listType: facts.listType, mapType: facts.mapType };
    this.#schema = lazily(() => table.schema(facts.type, facts));
  }

  get schema(): Schema {
    return this.#schema();
  }
}

class AnyFromFacts implements AnySchema {
  readonly shape = "any";
  readonly goType: string;
  readonly #table: Table;
  readonly #struct: string | undefined;

  constructor(goType: string, table: Table, struct: string | undefined) {
    this.goType = goType;
    this.#table = table;
    this.#struct = struct;
  }

  get struct(): StructSchema {
    return (this.#struct === undefined ? undefined : this.#table.struct(this.#struct))!;
  }
}

/** TypeMeta has no number: the kind and version of an object travel outside of its message. */
function inlinedField(field: Field, by: InlinedBy): Field {
  const outside = by.number === 0;
  return {
    name: field.name,
    number: outside ? 0 : field.number,
    get schema() {
      return field.schema;
    },
    pointer: field.pointer,
    omitEmpty: field.omitEmpty,
    omitZero: field.omitZero,
    required: field.required,
    enum: field.enum,
    default: field.default,
    patch: field.patch,
    ...(field.stated === undefined ? {} : { stated: field.stated }),
    inlinedBy: outside ? [] : [by, ...field.inlinedBy],
  };
}

function patchFactsOf({ patchStrategies, patchMergeKey }: FieldFacts): PatchFacts | undefined {
  if (patchStrategies.length === 0) return undefined;
  return { strategies: patchStrategies as PatchFacts["strategies"], mergeKey: patchMergeKey };
}

/** A struct where the field that holds it overrides whether it is one value. */
function withMapType(struct: StructSchema, mapType: Use["mapType"]): StructSchema {
  if (mapType === undefined || struct.atomic === (mapType === "atomic")) return struct;
  return {
    shape: "struct",
    name: struct.name,
    proto: struct.proto,
    goType: struct.goType,
    atomic: mapType === "atomic",
    preserveUnknown: struct.preserveUnknown,
    get fields() {
      return struct.fields;
    },
    get byName() {
      return struct.byName;
    },
  };
}

/** A named scalar keeps the shape of what it names; a named named type takes the outer name. */
function renamed(schema: Schema, goType: string): Schema {
  if (schema.shape !== "scalar") return schema;
  const scalar: ScalarSchema = { shape: "scalar", scalar: schema.scalar, goType };
  return scalar;
}

function lazily<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
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
const headers = lazily(() =>
  Object.entries(factTables).map(([name, text]) => {
    const [group = "", version = "", openapi = ""] = text
      .split("\n", 3)
      .map((line) => line.slice(line.indexOf(" ") + 1));
    return { name, group, version, openapi };
  }),
);
