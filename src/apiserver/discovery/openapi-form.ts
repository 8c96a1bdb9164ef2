/** The four forms of OpenAPI documents: version 2 and 3, each as JSON and as protobuf. */
import type { Dialect, Json } from "#api/openapi/definition.ts";
import { componentsV3, openApiHead, openApiV2Tail } from "#api/openapi/documents.ts";
import { encodeOpenApiV2 } from "#api/openapi/v2-protobuf.ts";
import { encodeOpenApiV3 } from "#api/openapi/v3-protobuf.ts";

/** The two large parts of a document; in version 3 definitions are called schemas. */
export type Section = "paths" | "definitions";

type Bytes = string | Uint8Array;

export interface OpenApiForm {
  readonly name: string;
  readonly dialect: Dialect;
  /** Between two encoded members. */
  readonly separator: string;
  /** Members of a section; what stands around the section is in the frame. */
  encode(section: Section, members: Json): Bytes;
  frame(serverVersion: string, hasDefinitions: boolean): Frame;
}

/** What stands before the paths, between them and the definitions, and after those. */
export interface Frame {
  readonly start: Bytes;
  readonly middle: Bytes;
  readonly end: Bytes;
}

const JSON_V2: OpenApiForm = {
  name: "v2 json",
  dialect: "v2",
  separator: ",",
  encode: (_section, members) => inner(members),
  frame: (serverVersion) => ({
    start: `{${inner(openApiHead("v2", { serverVersion }))},"paths":{`,
    middle: '},"definitions":{',
    end: `},${inner(openApiV2Tail())}}`,
  }),
};

const JSON_V3: OpenApiForm = {
  name: "v3 json",
  dialect: "v3",
  separator: ",",
  encode: (_section, members) => inner(members),
  frame: (serverVersion, hasDefinitions) => ({
    start: `{${inner(openApiHead("v3", { serverVersion }))},"paths":{`,
    middle: `},"components":{${hasDefinitions ? '"schemas":{' : ""}`,
    end: `${hasDefinitions ? "}," : ""}${inner(componentsV3({}))}}}`,
  }),
};

/** Parts of a protobuf message that stand one after another are one message. */
const PROTOBUF_V2: OpenApiForm = {
  name: "v2 protobuf",
  dialect: "v2",
  separator: "",
  encode: (section, members) => encodeOpenApiV2({ [section]: members }),
  frame: (serverVersion) => ({
    start: encodeOpenApiV2(openApiHead("v2", { serverVersion })),
    middle: "",
    end: encodeOpenApiV2(openApiV2Tail()),
  }),
};

const PROTOBUF_V3: OpenApiForm = {
  name: "v3 protobuf",
  dialect: "v3",
  separator: "",
  encode: (section, members) =>
    encodeOpenApiV3(
      section === "paths" ? { paths: members } : { components: { schemas: members } },
    ),
  frame: (serverVersion) => ({
    start: encodeOpenApiV3(openApiHead("v3", { serverVersion })),
    middle: "",
    end: encodeOpenApiV3({ components: componentsV3({}) }),
  }),
};

export const OPENAPI_FORMS = {
  v2: { json: JSON_V2, protobuf: PROTOBUF_V2 },
  v3: { json: JSON_V3, protobuf: PROTOBUF_V3 },
} as const;

/** Members of a JSON object without the braces. */
function inner(members: Json): string {
  return JSON.stringify(members).slice(1, -1);
}
