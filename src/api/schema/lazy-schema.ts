/**
 * Schemas whose inside is made when it is first looked at: types refer to one another, some to
 * themselves, and most of them are never asked for.
 */
import type { FactTable, FieldFacts } from "#api/facts/parse.ts";
import { lazy } from "#lib/lazy.ts";
import type {
  AnySchema,
  Field,
  InlinedBy,
  ListSchema,
  MapSchema,
  PatchFacts,
  ScalarSchema,
  Schema,
  StatedFacts,
  StructSchema,
  UnionFacts,
} from "./schema.ts";

/** What a field says about the list, map or struct that stands in it. */
export type Use = Pick<FieldFacts, "listType" | "listKeys" | "mapType">;

export class LazyStruct implements StructSchema {
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
    this.#fields = lazy(fields);
    this.#byName = lazy(() => new Map(this.fields.map((field) => [field.name, field])));
  }

  get fields(): readonly Field[] {
    return this.#fields();
  }

  get byName(): ReadonlyMap<string, Field> {
    return this.#byName();
  }
}

export class LazyField implements Field {
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

  constructor(facts: FieldFacts, schema: () => Schema) {
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
    this.#schema = lazy(schema);
  }

  get schema(): Schema {
    return this.#schema();
  }
}

/** Any JSON; with `struct`, such a struct where it is an object. */
export function lazyAny(goType: string, struct: (() => StructSchema) | undefined): AnySchema {
  if (struct === undefined) return { shape: "any", goType };
  return {
    shape: "any",
    goType,
    get struct() {
      return struct();
    },
  };
}

/** `goType`: the list's own, if it has a name. */
export function lazyList(
  makeItem: () => Schema,
  { listType, listKeys }: Use,
  goType: string | undefined,
  message: boolean,
): ListSchema {
  const item = lazy(makeItem);
  return {
    shape: "list",
    listType: listType ?? "atomic",
    keys: listKeys,
    message,
    get item() {
      return item();
    },
    get goType() {
      return goType ?? `[]${item().goType}`;
    },
  };
}

/** `goType`: the map's own, if it has a name. */
export function lazyMap(
  makeKey: () => Schema,
  makeValue: () => Schema,
  { mapType }: Use,
  goType: string | undefined,
): MapSchema {
  const key = lazy(makeKey);
  const value = lazy(makeValue);
  return {
    shape: "map",
    atomic: mapType === "atomic",
    get value() {
      return value();
    },
    get goType() {
      return goType ?? `map[${key().goType}]${value().goType}`;
    },
  };
}

/** TypeMeta has no number: the kind and version of an object travel outside of its message. */
export function inlinedField(field: Field, by: InlinedBy): Field {
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

/** A struct where the field that holds it overrides whether it is one value. */
export function withMapType(struct: StructSchema, mapType: Use["mapType"]): StructSchema {
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
export function renamed(schema: Schema, goType: string): Schema {
  if (schema.shape !== "scalar") return schema;
  const scalar: ScalarSchema = { shape: "scalar", scalar: schema.scalar, goType };
  return scalar;
}

function patchFactsOf({ patchStrategies, patchMergeKey }: FieldFacts): PatchFacts | undefined {
  if (patchStrategies.length === 0) return undefined;
  return { strategies: patchStrategies as PatchFacts["strategies"], mergeKey: patchMergeKey };
}
