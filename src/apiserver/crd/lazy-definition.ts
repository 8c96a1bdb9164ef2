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
const SCHEMA = '"openAPIV3Schema":';
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/** Where the text of a definition is: a Revision. Compact JSON, as the server writes it. */
export interface DefinitionText {
  /** With or without a resourceVersion: schemas stand behind it. */
  readonly storedText: Buffer;
}

export function lazyDefinition(source: DefinitionText): CustomResourceDefinition {
  const json = source.storedText;
  // One character for each byte: searching a string is much faster than searching bytes.
  const text = json.toString("latin1");
  const schemas: SchemaPlace[] = [];
  let rest = "";
  let from = 0;
  for (;;) {
    const found = text.indexOf(SCHEMA, from);
    const start = found + SCHEMA.length;
    if (found < 0) break;
    if (text.charCodeAt(start) !== OPEN) return parse(json);
    const end = objectEnd(text, start);
    rest += `${json.toString("utf8", from, start)}${schemas.length}`;
    schemas.push({ start: start - json.length, end: end - json.length });
    from = end;
  }
  const definition = JSON.parse(rest + json.toString("utf8", from)) as CustomResourceDefinition;
  let used = 0;
  const versions = definition.spec.versions?.map((version) => {
    const number: unknown = version.schema?.openAPIV3Schema; // it stands in the place of the schema
    const schema = typeof number === "number" ? schemas[number] : undefined;
    if (schema === undefined) return version;
    used += 1;
    return withSchema(version, source, schema);
  });
  // A member of that name somewhere else.
  if (versions === undefined || used < schemas.length) return parse(json);
  return { ...definition, spec: { ...definition.spec, versions } };
}

/** Negative: counted from the end of the text, which stays the same when a resourceVersion is put in. */
interface SchemaPlace {
  readonly start: number;
  readonly end: number;
}

function withSchema(
  version: CustomResourceDefinitionVersion,
  source: DefinitionText,
  { start, end }: SchemaPlace,
): CustomResourceDefinitionVersion {
  return {
    ...version,
    schema: {
      get openAPIV3Schema(): JSONSchemaProps {
        return parse(source.storedText.subarray(start, end));
      },
    },
  };
}

/** Where the object that begins at `start` ends. */
function objectEnd(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = stringEnd(text, at + 1);
    else if (code === OPEN) depth += 1;
    else if (code === CLOSE) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return text.length;
}

/** Where the closing quote stands: the first one that is not escaped. */
function stringEnd(text: string, from: number): number {
  let end = text.indexOf('"', from);
  while (end >= 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end < 0 ? text.length : end;
}

/** An odd number of backslashes stands before it. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}

function parse<T>(json: Buffer): T {
  return parseStored(json, customResourceDefinitionKind) as T;
}
