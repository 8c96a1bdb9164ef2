/**
 * The type of a custom resource as server-side apply sees it: which values are owned whole, member by
 * member or item by item. Values of unknown fields are free JSON.
 */
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { schemaOf } from "#api/schema/from-facts.ts";
import type { Field, ListSchema, Scalar, Schema, StructSchema } from "#api/schema/schema.ts";
import { additionalSchema, itemsSchema } from "../json-schema/walk.ts";

const STRING: Schema = { shape: "scalar", scalar: "string", goType: "string" };
const UNTYPED: Schema = {
  shape: "scalar",
  scalar: "IntOrString",
  goType: "intstr.IntOrString",
};
const ANY: Schema = { shape: "any", goType: "interface {}" };

/** `definition`: the name of the OpenAPI definition. */
export function appliedSchema(schema: JSONSchemaProps, definition: string): StructSchema {
  const { metadata: _, kind: __, apiVersion: ___, ...properties } = schema.properties ?? {};
  const own = Object.entries(properties).map(([name, property]) => fieldOf(name, property));
  return structSchema(definition, [...typeFields(), ...own], {
    preserveUnknown: keepsUnknown(schema),
  });
}

/** What decoders check of a custom resource: its metadata. All else is left to its own schema. */
export function envelopeSchema(definition: string): StructSchema {
  return structSchema(definition, typeFields(), { preserveUnknown: true });
}

function typeFields(): Field[] {
  return [
    plainField("kind", STRING),
    plainField("apiVersion", STRING),
    { ...plainField("metadata", schemaOf("meta.v1.ObjectMeta")), omitEmpty: false },
  ];
}

function typed(schema: JSONSchemaProps): Schema {
  // Published without a type, so that apply takes anything; the schema of the kind refuses it later.
  if (schema["x-kubernetes-int-or-string"]) return ANY;
  switch (schema.type) {
    case "object":
      return objectSchema(schema);
    case "array":
      return listSchema(schema);
    case "string":
      // Apply takes any scalar where a format is given; the schema of the kind refuses it later.
      if (!["", "byte"].includes(schema.format ?? "")) return UNTYPED;
      return STRING;
    case "integer":
    case "number":
    case "boolean": {
      const scalar = SCALARS[schema.type];
      return { shape: "scalar", scalar, goType: scalar };
    }
    default:
      return ANY;
  }
}

const SCALARS = {
  integer: "int64",
  number: "float64",
  boolean: "bool",
} as const satisfies Readonly<Record<string, Scalar>>;

function objectSchema(schema: JSONSchemaProps): Schema {
  const atomic = schema["x-kubernetes-map-type"] === "atomic";
  const additional = additionalSchema(schema);
  const { properties = {} } = schema;
  if (additional !== undefined) {
    return { shape: "map", value: typed(additional), atomic, goType: "map[string]interface {}" };
  }
  const fields = Object.entries(properties).map(([name, property]) => fieldOf(name, property));
  if (schema["x-kubernetes-embedded-resource"]) {
    const own = fields.filter(({ name }) => !["apiVersion", "kind", "metadata"].includes(name));
    return structSchema("", [...own, ...typeFields()], {
      atomic,
      preserveUnknown: schema.additionalProperties === true || keepsUnknown(schema),
    });
  }
  const open = schema.additionalProperties === true || fields.length === 0;
  return structSchema("", fields, { atomic, preserveUnknown: open || keepsUnknown(schema) });
}

function listSchema(schema: JSONSchemaProps): ListSchema {
  const items = itemsSchema(schema);
  const type = schema["x-kubernetes-list-type"];
  return {
    shape: "list",
    item: items === undefined ? ANY : typed(items),
    listType: type === "set" || type === "map" ? type : "atomic",
    keys: type === "map" ? (schema["x-kubernetes-list-map-keys"] ?? []) : [],
    goType: "[]interface {}",
  };
}

function keepsUnknown(schema: JSONSchemaProps): boolean {
  return schema["x-kubernetes-preserve-unknown-fields"] === true;
}

function fieldOf(name: string, schema: JSONSchemaProps): Field {
  return { ...plainField(name, typed(schema)), default: schema.default };
}

function plainField(name: string, schema: Schema): Field {
  return {
    name,
    number: 0,
    schema,
    pointer: true,
    omitEmpty: true,
    omitZero: true,
    required: false,
    enum: undefined,
    default: undefined,
    patch: undefined,
    inlinedBy: [],
  };
}

function structSchema(
  name: string,
  fields: readonly Field[],
  { atomic = false, preserveUnknown = false },
): StructSchema {
  return {
    shape: "struct",
    name,
    proto: "",
    goType: "unstructured.Unstructured",
    fields,
    byName: new Map(fields.map((field) => [field.name, field])),
    atomic,
    preserveUnknown,
  };
}
