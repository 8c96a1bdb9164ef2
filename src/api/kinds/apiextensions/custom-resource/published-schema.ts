/**
 * The OpenAPI definition of a custom resource. OpenAPI v2 lacks keywords of v3, and clients that read it
 * take every field that is not listed for an error, so parts that allow unknown fields or null are
 * published there without a type.
 */
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { additionalSchema, itemsSchema } from "../json-schema/walk.ts";

type Dialect = "v2" | "v3";
type Json = Readonly<Record<string, unknown>>;

const OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const REFERENCES = { v2: "#/definitions/", v3: "#/components/schemas/" } as const;
const CONVENTIONS =
  "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

export function publishedSchema(schema: JSONSchemaProps | undefined, dialect: Dialect): Json {
  const isOpen = schema === undefined || (dialect === "v2" && keepsUnknown(schema));
  if (isOpen) return { type: "object" };
  const root = published(schema, dialect);
  const properties = { ...(root.properties as Json), metadata: metadataProperty(dialect) };
  return { ...root, properties: { ...properties, ...typeProperties(ROOT_TEXTS) } };
}

function published(given: JSONSchemaProps, dialect: Dialect): Record<string, unknown> {
  const schema = dialect === "v2" ? withoutNewKeywords(given) : given;
  const result: Record<string, unknown> = { ...schema };
  if (schema.properties !== undefined) {
    result.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([name, one]) => [name, published(one, dialect)]),
    );
  }
  const items = itemsSchema(schema);
  if (items !== undefined) result.items = published(items, dialect);
  const additional = additionalSchema(schema);
  if (additional !== undefined) result.additionalProperties = published(additional, dialect);
  const isResource = schema["x-kubernetes-embedded-resource"] === true;
  if (isResource && !(dialect === "v2" && keepsUnknown(schema))) {
    result.properties = {
      ...(result.properties as Json | undefined),
      ...typeProperties(EMBEDDED_TEXTS),
      metadata: metadataProperty(dialect),
    };
    result.required = [...new Set([...(schema.required ?? []), "kind", "apiVersion"])];
  }
  return result;
}

function withoutNewKeywords(schema: JSONSchemaProps): JSONSchemaProps {
  const { allOf: _, anyOf: __, oneOf: ___, not: ____, nullable = false, ...rest } = schema;
  const { type, items, properties, required, ...others } = rest;
  const isUntyped = nullable || keepsUnknown(schema);
  const isBareList = type === "array" && (items === undefined || isUntyped);
  const keepsType =
    type !== undefined && !nullable && !isBareList && !(isUntyped && type === "object");
  const mandatory = (required ?? []).filter((name) => properties?.[name]?.nullable !== true);
  const isOptional = additionalSchema(schema)?.nullable === true || mandatory.length === 0;
  return {
    ...others,
    ...(keepsType ? { type } : {}),
    ...(isUntyped || items === undefined ? {} : { items }),
    ...(isUntyped || properties === undefined ? {} : { properties }),
    ...(isOptional ? {} : { required: mandatory }),
  };
}

function keepsUnknown(schema: JSONSchemaProps): boolean {
  return schema["x-kubernetes-preserve-unknown-fields"] === true;
}

interface TypeTexts {
  readonly apiVersion: string;
  readonly kind: string;
}

const ROOT_TEXTS: TypeTexts = {
  apiVersion: `APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: ${CONVENTIONS}#resources`,
  kind: `Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: ${CONVENTIONS}#types-kinds`,
};

const EMBEDDED_TEXTS: TypeTexts = {
  apiVersion: `apiVersion defines the versioned schema of this representation of an object. More info: ${CONVENTIONS}#resources`,
  kind: `kind is a string value representing the type of this object. In CamelCase. More info: ${CONVENTIONS}#types-kinds`,
};

function typeProperties({ apiVersion, kind }: TypeTexts): Json {
  return {
    apiVersion: { description: apiVersion, type: "string" },
    kind: { description: kind, type: "string" },
  };
}

function metadataProperty(dialect: Dialect): Json {
  const reference = { $ref: `${REFERENCES[dialect]}${OBJECT_META}` };
  const description = `Standard object's metadata. More info: ${CONVENTIONS}#metadata`;
  return dialect === "v2" ? { description, ...reference } : { description, allOf: [reference] };
}
