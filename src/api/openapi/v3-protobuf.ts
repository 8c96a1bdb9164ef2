/** An OpenAPI v3 document in its protobuf form, which clients that want less to parse ask for. */
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
} from "./protobuf-fields.ts";

export const V3_PROTOBUF = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";
/** What clients ask with; the first is no proper media type and never an answer's. */
export const V3_PROTOBUF_ASKED: readonly string[] = [
  "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
  V3_PROTOBUF,
];

export function encodeOpenApiV3(document: Json): Uint8Array {
  return message(document, DOCUMENT, 9);
}

/** Nearly everything may be written elsewhere and referred to; then the second field is used. */
const orReference =
  (encode: Encoder<Json>): Encoder<Json> =>
  (value) => {
    const reference = value.$ref;
    if (typeof reference !== "string") return join([bytesField(1, encode(value))]);
    return join([bytesField(2, message(value, REFERENCE, NO_EXTENSIONS))]);
  };
const plainSchema: Encoder<Json> = (value) => message(value, SCHEMA, 36);
const schema: Encoder<Json> = orReference(plainSchema);
const operation: Encoder<Json> = (value) => message(value, OPERATION, 13);
const parameter = orReference((value) => message(value, PARAMETER, 14));
const mediaType: Encoder<Json> = (value) => message(value, MEDIA_TYPE, 5);

const NO_EXTENSIONS = 0;
const REFERENCE: Fields = { $ref: [1, text] };

const SCHEMA: Fields = {
  nullable: [1, bool],
  readOnly: [3, bool],
  example: [7, any],
  deprecated: [8, bool],
  title: [9, text],
  multipleOf: [10, double],
  maximum: [11, double],
  exclusiveMaximum: [12, bool],
  minimum: [13, double],
  exclusiveMinimum: [14, bool],
  maxLength: [15, integer],
  minLength: [16, integer],
  pattern: [17, text],
  maxItems: [18, integer],
  minItems: [19, integer],
  uniqueItems: [20, bool],
  maxProperties: [21, integer],
  minProperties: [22, integer],
  required: [23, texts],
  enum: [24, anys],
  type: [25, text],
  allOf: [26, many(schema)],
  oneOf: [27, many(schema)],
  anyOf: [28, many(schema)],
  not: [29, one(plainSchema)],
  items: [30, one((value: Json) => join([bytesField(1, schema(value))]))],
  properties: [31, named(1, schema)],
  additionalProperties: [32, one(additionalProperties)],
  default: [33, one(defaultValue)],
  description: [34, text],
  format: [35, text],
};

const MEDIA_TYPE: Fields = { schema: [1, one(schema)], example: [2, any] };

const PARAMETER: Fields = {
  name: [1, text],
  in: [2, text],
  description: [3, text],
  required: [4, bool],
  deprecated: [5, bool],
  allowEmptyValue: [6, bool],
  schema: [10, one(schema)],
  content: [13, named(1, mediaType)],
};

const REQUEST_BODY: Fields = {
  description: [1, text],
  content: [2, named(1, mediaType)],
  required: [3, bool],
};

const RESPONSE: Fields = { description: [1, text], content: [3, named(1, mediaType)] };

const OPERATION: Fields = {
  tags: [1, texts],
  summary: [2, text],
  description: [3, text],
  operationId: [5, text],
  parameters: [6, many(parameter)],
  requestBody: [7, one(orReference((value) => message(value, REQUEST_BODY, 4)))],
  responses: [8, one(responses)],
  deprecated: [10, bool],
};

const PATH_ITEM: Fields = {
  summary: [2, text],
  description: [3, text],
  get: [4, one(operation)],
  put: [5, one(operation)],
  post: [6, one(operation)],
  delete: [7, one(operation)],
  options: [8, one(operation)],
  head: [9, one(operation)],
  patch: [10, one(operation)],
  trace: [11, one(operation)],
  parameters: [13, many(parameter)],
};

const INFO: Fields = { title: [1, text], description: [2, text], version: [6, text] };

const SECURITY_SCHEME: Fields = {
  type: [1, text],
  description: [2, text],
  name: [3, text],
  in: [4, text],
};

const COMPONENTS: Fields = {
  schemas: [1, named(1, schema)],
  securitySchemes: [
    7,
    named(
      1,
      orReference((value) => message(value, SECURITY_SCHEME, 9)),
    ),
  ],
};

const DOCUMENT: Fields = {
  openapi: [1, text],
  info: [2, one((value: Json) => message(value, INFO, 7))],
  paths: [4, named(1, (value: Json) => message(value, PATH_ITEM, 14))],
  components: [5, one((value: Json) => message(value, COMPONENTS, 10))],
};

function responses(value: Members<Json>): Uint8Array {
  const { default: otherwise, ...coded } = value;
  const response = orReference((one) => message(one, RESPONSE, 5));
  const parts = [pairs(2, coded, response)];
  if (otherwise !== undefined) parts.unshift(bytesField(1, response(otherwise)));
  return join(parts);
}

function additionalProperties(value: Json | boolean): Uint8Array {
  if (typeof value === "boolean") return join(bool(2, value));
  return join([bytesField(1, schema(value))]);
}

/** Defaults that are objects or lists have no encoding: they become an empty message. */
function defaultValue(value: unknown): Uint8Array {
  if (typeof value === "number") return join(double(1, value));
  if (typeof value === "boolean") return join(bool(2, value));
  return typeof value === "string" ? join(text(3, value)) : new Uint8Array(0);
}
