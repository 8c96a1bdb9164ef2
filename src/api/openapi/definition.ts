/**
 * A type as OpenAPI describes it, in the dialect of either document. Version 3 wraps references, so
 * that they may carry a description and a default, and states the zero of what is always there.
 */
import type { Field, Scalar, Schema, StructSchema } from "#api/schema/schema.ts";

export type Dialect = "v2" | "v3";
export type Json = Readonly<Record<string, unknown>>;

/** Texts for people, which the fact tables leave out. Definition names as OpenAPI has them. */
export interface Descriptions {
  type(definition: string): string | undefined;
  field(definition: string, field: string): string | undefined;
}

export const NO_DESCRIPTIONS: Descriptions = { type: () => undefined, field: () => undefined };

/** Where each dialect keeps its definitions. */
export const REFERENCE_PREFIX: Readonly<Record<Dialect, string>> = {
  v2: "#/definitions/",
  v3: "#/components/schemas/",
};

export function describeStruct(
  schema: StructSchema,
  dialect: Dialect,
  descriptions: Descriptions,
): Json {
  const fields = [...schema.fields].sort((a, b) => (a.name < b.name ? -1 : 1));
  const properties = fields.map((field) => [
    field.name,
    describeField(field, schema.name, dialect, descriptions),
  ]);
  const required = schema.fields.filter((field) => field.required).map(({ name }) => name);
  return present({
    description: descriptions.type(schema.name),
    type: "object",
    required: required.length === 0 ? undefined : required,
    properties: properties.length === 0 ? undefined : Object.fromEntries(properties),
    "x-kubernetes-map-type": schema.atomic ? "atomic" : undefined,
    "x-kubernetes-unions": schema.union && [describeUnion(schema.union)],
  });
}

/** Definitions of types that are plain values in JSON. */
export function describeValue(
  definition: string,
  dialect: Dialect,
  descriptions: Descriptions,
): Json | undefined {
  const value = VALUES[definition]?.[dialect];
  return value && present({ description: descriptions.type(definition), ...value });
}

/** The definitions that a type mentions directly. */
export function mentionedDefinitions(schema: Schema): Map<string, StructSchema | undefined> {
  const found = new Map<string, StructSchema | undefined>();
  const visit = (inner: Schema): void => {
    if (inner.shape === "list") visit(inner.item);
    else if (inner.shape === "map") visit(inner.value);
    else if (inner.shape === "struct") found.set(inner.name, inner);
    else {
      const name = definitionOfValue(inner);
      if (name !== undefined) found.set(name, undefined);
      if (inner.shape === "any" && inner.struct !== undefined) visit(inner.struct);
    }
  };
  if (schema.shape === "struct") for (const field of schema.fields) visit(field.schema);
  else visit(schema);
  return found;
}

const META = "io.k8s.apimachinery.pkg.apis.meta.v1";
const EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1";
const TIME = { type: "string", format: "date-time" };

const VALUES: Readonly<Record<string, Readonly<Record<Dialect, Json>> | undefined>> = {
  [`${META}.Time`]: { v2: TIME, v3: TIME },
  [`${META}.MicroTime`]: { v2: TIME, v3: TIME },
  [`${META}.Duration`]: { v2: { type: "string" }, v3: { type: "string" } },
  [`${META}.FieldsV1`]: { v2: { type: "object" }, v3: { type: "object" } },
  [`${META}.Patch`]: { v2: { type: "object" }, v3: { type: "object" } },
  "io.k8s.apimachinery.pkg.runtime.RawExtension": {
    v2: { type: "object" },
    v3: { type: "object" },
  },
  "io.k8s.apimachinery.pkg.api.resource.Quantity": {
    v2: { type: "string" },
    v3: { oneOf: [{ type: "string" }, { type: "number" }] },
  },
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
    v2: { type: "string", format: "int-or-string" },
    v3: { format: "int-or-string", oneOf: [{ type: "integer" }, { type: "string" }] },
  },
  [`${EXTENSIONS}.JSON`]: { v2: {}, v3: {} },
  [`${EXTENSIONS}.JSONSchemaPropsOrArray`]: { v2: {}, v3: {} },
  [`${EXTENSIONS}.JSONSchemaPropsOrBool`]: { v2: {}, v3: {} },
  [`${EXTENSIONS}.JSONSchemaPropsOrStringArray`]: { v2: {}, v3: {} },
};

const DEFINITION_OF_GO_TYPE: Readonly<Record<string, string | undefined>> = {
  "runtime.RawExtension": "io.k8s.apimachinery.pkg.runtime.RawExtension",
  "v1.FieldsV1": `${META}.FieldsV1`,
  "v1.JSON": `${EXTENSIONS}.JSON`,
  "v1.JSONSchemaPropsOrArray": `${EXTENSIONS}.JSONSchemaPropsOrArray`,
  "v1.JSONSchemaPropsOrBool": `${EXTENSIONS}.JSONSchemaPropsOrBool`,
  "v1.JSONSchemaPropsOrStringArray": `${EXTENSIONS}.JSONSchemaPropsOrStringArray`,
};

const DEFINITION_OF_SCALAR: Readonly<Partial<Record<Scalar, string>>> = {
  Time: `${META}.Time`,
  MicroTime: `${META}.MicroTime`,
  Duration: `${META}.Duration`,
  Quantity: "io.k8s.apimachinery.pkg.api.resource.Quantity",
  IntOrString: "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
};

function definitionOfValue(schema: Schema): string | undefined {
  if (schema.shape === "scalar") return DEFINITION_OF_SCALAR[schema.scalar];
  return schema.shape === "any" ? DEFINITION_OF_GO_TYPE[schema.goType] : undefined;
}

function describeField(
  field: Field,
  owner: string,
  dialect: Dialect,
  descriptions: Descriptions,
): Json {
  const { schema, patch, stated } = field;
  const isList = schema.shape === "list";
  const keys = isList && stated?.listType === "map" ? schema.keys : undefined;
  const around = present({
    description:
      descriptions.field(owner, field.name) ?? referencedDescription(schema, descriptions),
    enum: schema.shape === "scalar" ? field.enum : undefined,
    default: dialect === "v3" ? defaultOf(field) : undefined,
    "x-kubernetes-list-map-keys": keys,
    "x-kubernetes-list-type": stated?.listType,
    "x-kubernetes-map-type": stated?.mapType,
    "x-kubernetes-patch-merge-key": patch?.mergeKey,
    "x-kubernetes-patch-strategy": patch?.strategies.join(","),
  });
  // In version 3 a bare reference may have nothing beside it.
  const isWrapped = dialect === "v3" && Object.keys(around).length > 0;
  const type = describeType(schema, dialect, isWrapped);
  return { ...type, ...elementEnum(field, dialect), ...around };
}

/** A field that only refers to a type has the words of that type, if it has none of its own. */
function referencedDescription(schema: Schema, descriptions: Descriptions): string | undefined {
  return schema.shape === "struct" ? descriptions.type(schema.name) : undefined;
}

function describeType(schema: Schema, dialect: Dialect, wrapped: boolean): Json {
  const definition = schema.shape === "struct" ? schema.name : definitionOfValue(schema);
  if (definition !== undefined) {
    const reference = { $ref: `${REFERENCE_PREFIX[dialect]}${definition}` };
    return wrapped ? { allOf: [reference] } : reference;
  }
  switch (schema.shape) {
    case "list":
      return { type: "array", items: describeElement(schema.item, dialect) };
    case "map":
      return { type: "object", additionalProperties: describeElement(schema.value, dialect) };
    case "scalar":
      return SCALARS[schema.scalar] ?? { type: "string" };
    default:
      return {};
  }
}

const SCALARS: Readonly<Partial<Record<Scalar, Json>>> = {
  bool: { type: "boolean" },
  int: { type: "integer", format: "int32" },
  int32: { type: "integer", format: "int32" },
  int64: { type: "integer", format: "int64" },
  float64: { type: "number", format: "double" },
  bytes: { type: "string", format: "byte" },
};

/** What a list or map holds. Version 3 states its zero, and wraps a reference only to do so. */
function describeElement(schema: Schema, dialect: Dialect): Json {
  if (dialect === "v2") return describeType(schema, dialect, false);
  const zero = elementZero(schema);
  const type = describeType(schema, dialect, schema.shape === "struct");
  return zero === undefined ? type : { ...type, default: zero };
}

function elementZero(schema: Schema): unknown {
  if (schema.shape === "struct") return {};
  return schema.shape === "scalar" ? SCALAR_ZEROS[schema.scalar] : undefined;
}

const SCALAR_ZEROS: Readonly<Partial<Record<Scalar, unknown>>> = {
  string: "",
  UID: "",
  bool: false,
  int: 0,
  int32: 0,
  int64: 0,
  float64: 0,
};

/** A stated default; else the zero of a field that is always written. */
function defaultOf(field: Field): unknown {
  if (field.default !== undefined) return field.default;
  if (field.pointer) return undefined;
  if (field.schema.shape === "struct") return {};
  return field.omitEmpty ? undefined : elementZero(field.schema);
}

/** The values that a list or map may hold, said where it holds them. */
function elementEnum({ schema, enum: values }: Field, dialect: Dialect): Json {
  if (values === undefined) return {};
  if (schema.shape === "list")
    return { items: { ...describeElement(schema.item, dialect), enum: values } };
  if (schema.shape !== "map") return {};
  return { additionalProperties: { ...describeElement(schema.value, dialect), enum: values } };
}

function describeUnion(union: NonNullable<StructSchema["union"]>): Json {
  const names = union.fields.map((field) => [field, field[0]!.toUpperCase() + field.slice(1)]);
  return present({
    discriminator: union.discriminator,
    "fields-to-discriminateBy": Object.fromEntries(names),
  });
}

/** Without the members that are not there. */
export function present(members: Json): Json {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
