/** The OpenAPI v2 document in its protobuf form, which older clients ask for. */
import {
  any,
  anys,
  bool,
  bytesField,
  double,
  type Encoder,
  type Fields,
  integer,
  type Json,
  join,
  type Members,
  many,
  message,
  named,
  one,
  pairs,
  text,
  texts,
  type Write,
} from "./protobuf-fields.ts";

export const V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
/** What clients ask with; the first is no proper media type and never an answer's. */
export const V2_PROTOBUF_ASKED: readonly string[] = [
  "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
  V2_PROTOBUF,
];

export function encodeOpenApiV2(document: Json): Uint8Array {
  return message(document, DOCUMENT, 16);
}

const schema: Encoder<Json> = (value) => message(value, SCHEMA, 31);
const operation: Encoder<Json> = (value) => message(value, OPERATION, 13);

const SCHEMA: Fields = {
  $ref: [1, text],
  format: [2, text],
  title: [3, text],
  description: [4, text],
  default: [5, any],
  multipleOf: [6, double],
  maximum: [7, double],
  exclusiveMaximum: [8, bool],
  minimum: [9, double],
  exclusiveMinimum: [10, bool],
  maxLength: [11, integer],
  minLength: [12, integer],
  pattern: [13, text],
  maxItems: [14, integer],
  minItems: [15, integer],
  uniqueItems: [16, bool],
  maxProperties: [17, integer],
  minProperties: [18, integer],
  required: [19, texts],
  enum: [20, anys],
  additionalProperties: [21, one(additionalProperties)],
  type: [22, one((value: string | readonly string[]) => join(texts(1, [value].flat())))],
  items: [23, one((value: Json) => join([bytesField(1, schema(value))]))],
  allOf: [24, many(schema)],
  properties: [25, named(1, schema)],
  discriminator: [26, text],
  readOnly: [27, bool],
  example: [30, any],
};

const INFO: Fields = { title: [1, text], version: [2, text], description: [3, text] };

const BODY_PARAMETER: Fields = {
  description: [1, text],
  name: [2, text],
  in: [3, text],
  required: [4, bool],
  schema: [5, one(schema)],
};

/** Parameters in the query have one field more, and so other numbers behind it. */
const PATH_PARAMETER: Fields = parameterFields(["required", "in", "description", "name"]);
const QUERY_PARAMETER: Fields = parameterFields([
  "required",
  "in",
  "description",
  "name",
  "allowEmptyValue",
]);

function parameterFields(first: readonly string[]): Fields {
  const names = [...first, "type", "format"];
  const write = (name: string): Write<never> =>
    name === "required" || name === "allowEmptyValue" ? bool : text;
  const unique = names.length + 13;
  return {
    ...Object.fromEntries(names.map((name, i) => [name, [i + 1, write(name)] as const])),
    default: [names.length + 3, any],
    uniqueItems: [unique, bool],
    enum: [unique + 1, anys],
  };
}

const RESPONSE: Fields = {
  description: [1, text],
  schema: [2, one((value: Json) => join([bytesField(1, schema(value))]))],
};

const OPERATION: Fields = {
  tags: [1, texts],
  summary: [2, text],
  description: [3, text],
  operationId: [5, text],
  produces: [6, texts],
  consumes: [7, texts],
  parameters: [8, many(parameter)],
  responses: [9, one((value: Members<Json>) => pairs(1, value, response))],
  schemes: [10, texts],
  deprecated: [11, bool],
};

const PATH_ITEM: Fields = {
  get: [2, one(operation)],
  put: [3, one(operation)],
  post: [4, one(operation)],
  delete: [5, one(operation)],
  options: [6, one(operation)],
  head: [7, one(operation)],
  patch: [8, one(operation)],
  parameters: [9, many(parameter)],
};

const API_KEY: Fields = { type: [1, text], name: [2, text], in: [3, text], description: [4, text] };

const DOCUMENT: Fields = {
  swagger: [1, text],
  info: [2, one((value: Json) => message(value, INFO, 7))],
  host: [3, text],
  basePath: [4, text],
  schemes: [5, texts],
  consumes: [6, texts],
  produces: [7, texts],
  paths: [8, named(2, (value: Json) => message(value, PATH_ITEM, 10))],
  definitions: [9, named(1, schema)],
  // Parameters that several operations share are written where they are used.
  parameters: [10, named(1, definedParameter)],
  security: [12, many((value: Members<readonly string[]>) => pairs(1, value, stringArray))],
  securityDefinitions: [
    13,
    named(1, (value: Json) => join([bytesField(2, message(value, API_KEY, 5))])),
  ],
};

const IN_NUMBERS: Readonly<Record<string, number>> = { header: 1, formData: 2, query: 3, path: 4 };

function definedParameter(value: Json): Uint8Array {
  const { in: where } = value;
  if (where === "body") return join([bytesField(1, message(value, BODY_PARAMETER, 6))]);
  const isQuery = where === "query" || where === "formData";
  const fields = isQuery ? QUERY_PARAMETER : PATH_PARAMETER;
  const inner = message(value, fields, isQuery ? 23 : 22);
  return join([bytesField(2, join([bytesField(IN_NUMBERS[String(where)] ?? 3, inner)]))]);
}

function parameter(value: Json): Uint8Array {
  const reference = value.$ref;
  if (typeof reference === "string") {
    return join([bytesField(2, join(text(1, reference)))]);
  }
  return join([bytesField(1, definedParameter(value))]);
}

function response(value: Json): Uint8Array {
  return join([bytesField(1, message(value, RESPONSE, 5))]);
}

function additionalProperties(value: Json | boolean): Uint8Array {
  if (typeof value === "boolean") return join(bool(2, value));
  return join([bytesField(1, schema(value))]);
}

function stringArray(values: readonly string[]): Uint8Array {
  return join(texts(1, values));
}
