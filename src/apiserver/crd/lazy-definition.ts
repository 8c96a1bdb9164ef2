/**
 * A CustomResourceDefinition whose schemas stay text until they are used: they are nearly all of it, and
 * most are not used in the life of a process.
 *
 * Promises:
 * 1. The value equals the parsed text. A property `openAPIV3Schema` of a version is parsed at each read,
 *    and is kept by nothing here.
 * 2. Reading costs one pass over the bytes of the schemas.
 */
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionVersion,
  JSONSchemaProps,
} from "#api/generated/apiextensions.v1.ts";
import { customResourceDefinitionKind } from "#api/kinds/apiextensions/v1/custom-resource-definition.ts";
import { parseStored } from "../storage/object-text.ts";

/** As a name of a member: in a string this could not stand, because its quotes would be escaped. */
const SCHEMA = Buffer.from('"openAPIV3Schema":');
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/** `json`: compact, as the server writes it. */
export function lazyDefinition(json: Buffer): CustomResourceDefinition {
  const schemas: Buffer[] = [];
  let rest = "";
  let from = 0;
  for (;;) {
    const found = json.indexOf(SCHEMA, from);
    const start = found + SCHEMA.length;
    if (found < 0) break;
    if (json[start] !== OPEN) return parse(json);
    const end = objectEnd(json, start);
    rest += `${json.toString("utf8", from, start)}${schemas.length}`;
    schemas.push(json.subarray(start, end));
    from = end;
  }
  const definition = JSON.parse(rest + json.toString("utf8", from)) as CustomResourceDefinition;
  let used = 0;
  const versions = definition.spec.versions?.map((version) => {
    const number: unknown = version.schema?.openAPIV3Schema; // it stands in the place of the schema
    const text = typeof number === "number" ? schemas[number] : undefined;
    if (text === undefined) return version;
    used += 1;
    return withSchema(version, text);
  });
  // A member of that name somewhere else.
  if (versions === undefined || used < schemas.length) return parse(json);
  return { ...definition, spec: { ...definition.spec, versions } };
}

function withSchema(
  version: CustomResourceDefinitionVersion,
  text: Buffer,
): CustomResourceDefinitionVersion {
  return {
    ...version,
    schema: {
      get openAPIV3Schema(): JSONSchemaProps {
        return parse(text);
      },
    },
  };
}

/** Where the object that begins at `start` ends. */
function objectEnd(json: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) at = stringEnd(json, at + 1);
    else if (byte === OPEN) depth += 1;
    else if (byte === CLOSE) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return json.length;
}

/** Where the closing quote stands. */
function stringEnd(json: Buffer, from: number): number {
  for (let at = from; at < json.length; at++) {
    if (json[at] === BACKSLASH) at += 1;
    else if (json[at] === QUOTE) return at;
  }
  return json.length;
}

function parse<T>(json: Buffer): T {
  return parseStored(json, customResourceDefinitionKind) as T;
}
