/** The type that a structural schema gives to expressions, with the sizes it allows. */
import { BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP } from "#api/cel/types/type.ts";
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import {
  type DeclaredType,
  declaredList,
  declaredMap,
  declaredObject,
  STRING_KEY,
  simpleType,
} from "./declared-type.ts";
import { escapeFieldName } from "./field-names.ts";

export const REQUEST_BYTES_MAX = 3 * 1024 * 1024;
const STRING_BYTES_MAX = REQUEST_BYTES_MAX - 2;
const DURATION_BYTES = { min: 3, max: 32 };
const DATE_BYTES = 12;
const TIME_BYTES = { min: 21, max: 32 };
const POINT_BYTES_MAX = 4; // of a code point

/** Undefined if expressions cannot know it: then they do not see the field at all. */
export function schemaType(
  schema: JSONSchemaProps,
  isResource: boolean,
  name: string,
): DeclaredType | undefined {
  if (schema["x-kubernetes-int-or-string"]) {
    const { maxLength } = schema;
    const sizeMax =
      maxLength === undefined ? STRING_BYTES_MAX : atLeast0(maxLength) * POINT_BYTES_MAX;
    return simpleType(DYN, 1, sizeMax);
  }
  const complete = isResource ? withMeta(schema) : schema;
  switch (complete.type) {
    case "array":
      return arrayType(complete, name);
    case "object":
      return objectSchemaType(complete, name);
    case "string":
      return stringType(complete);
    case "boolean":
      return simpleType(BOOL, 4);
    case "number":
      return simpleType(DOUBLE, 1);
    case "integer":
      return simpleType(INT, 1);
    default:
      return undefined;
  }
}

function arrayType({ items, maxItems }: JSONSchemaProps, name: string): DeclaredType | undefined {
  if (items === undefined) return undefined;
  const schema = items as JSONSchemaProps;
  const element = schemaType(schema, isEmbedded(schema), `${name}.@idx`);
  if (element === undefined) return undefined;
  const fitting = Math.floor(STRING_BYTES_MAX / (element.bytesMin + 1));
  return declaredList(element, maxItems === undefined ? fitting : atLeast0(maxItems));
}

function objectSchemaType(schema: JSONSchemaProps, name: string): DeclaredType | undefined {
  const { additionalProperties, properties = {}, required = [], maxProperties } = schema;
  if (typeof additionalProperties === "object") {
    const values = additionalProperties as JSONSchemaProps;
    const element = schemaType(values, isEmbedded(values), `${name}.@elem`);
    if (element === undefined) return undefined;
    const fitting = Math.floor(STRING_BYTES_MAX / (element.bytesMin + 6));
    const sizeMax = maxProperties === undefined ? fitting : atLeast0(maxProperties);
    return declaredMap(STRING_KEY, element, sizeMax);
  }
  const fields = new Map<string, DeclaredType>();
  let bytesMin = 2;
  for (const [property, propertySchema] of Object.entries(properties)) {
    const escaped = escapeFieldName(property);
    const inner = `${name}.${escaped ?? property}`;
    const type = schemaType(propertySchema, isEmbedded(propertySchema), inner);
    if (type === undefined) continue;
    if (escaped !== undefined) fields.set(escaped, type);
    if (required?.includes(property) && propertySchema.default === undefined) {
      bytesMin += utf8Length(property) + type.bytesMin + 4;
    }
  }
  return declaredObject(name, fields, bytesMin);
}

function stringType({ format, maxLength, enum: values }: JSONSchemaProps): DeclaredType {
  switch (format) {
    case "byte":
      return simpleType(BYTES, 2, maxLength === undefined ? STRING_BYTES_MAX : atLeast0(maxLength));
    case "duration":
      return simpleType(DURATION, DURATION_BYTES.min, DURATION_BYTES.max);
    case "date":
      return simpleType(TIMESTAMP, DATE_BYTES, DATE_BYTES);
    case "date-time":
      return simpleType(TIMESTAMP, TIME_BYTES.min, TIME_BYTES.max);
  }
  if (maxLength !== undefined) {
    return simpleType(STRING, 2, atLeast0(maxLength) * POINT_BYTES_MAX);
  }
  if (values === undefined || values === null || values.length === 0) {
    return simpleType(STRING, 2, STRING_BYTES_MAX);
  }
  const lengths = values.map((value) => (typeof value === "string" ? utf8Length(value) : 0));
  return simpleType(STRING, 2, Math.max(...lengths));
}

/** Resources have a kind, a version and a name, whatever their schema says. */
function withMeta(schema: JSONSchemaProps): JSONSchemaProps {
  const text: JSONSchemaProps = { type: "string" };
  const metadata: JSONSchemaProps = {
    type: "object",
    properties: { name: text, generateName: text },
  };
  return {
    ...schema,
    properties: { ...schema.properties, kind: text, apiVersion: text, metadata },
  };
}

function isEmbedded(schema: JSONSchemaProps): boolean {
  return schema["x-kubernetes-embedded-resource"] === true;
}

function atLeast0(value: number): number {
  return Math.max(value, 0);
}
