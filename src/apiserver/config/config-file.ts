/**
 * Files that configure the server: objects of kinds that are read at the start and never stored.
 * They are decoded strictly, with the same errors as for API objects.
 */

import { decodeJson } from "#api/codec/json.ts";
import { yamlToJson } from "#api/codec/yaml.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import type { AnySchema, Field, Scalar, Schema, StructSchema } from "#api/schema/schema.ts";

export interface ConfigKind {
  readonly kind: string;
  readonly apiVersions: readonly string[];
  readonly schema: StructSchema;
}

/** A field's type; `optional` where absent differs from empty. */
type FieldType = Schema | { readonly optional: Schema };

/** Throws, naming what is wrong. */
export function decodeConfig(text: string, kind: ConfigKind): unknown {
  const converted = yamlToJson(text);
  if (!converted.ok) throw new Error(converted.error);
  return decodeJsonConfig(converted.json, kind, converted.strictErrors);
}

/** The same, but unknown and duplicate fields are reported and ignored. */
export function decodeLeniently(
  text: string,
  kind: ConfigKind,
  warn: (faults: string) => void,
): unknown {
  const converted = yamlToJson(text);
  if (!converted.ok) throw new Error(converted.error);
  const { value, faults } = decodeAny(converted.json, kind);
  const all = [...converted.strictErrors, ...faults];
  if (all.length > 0) warn(`strict decoding error: ${all.join(", ")}`);
  return value;
}

/** The same for a document that is part of another. */
export function decodeConfigPart(document: unknown, kind: ConfigKind): unknown {
  return decodeJsonConfig(JSON.stringify(document ?? null), kind, []);
}

function decodeJsonConfig(
  json: string,
  kind: ConfigKind,
  strictErrors: readonly string[],
): unknown {
  const { value, faults } = decodeAny(json, kind);
  const all = [...strictErrors, ...faults];
  if (all.length > 0) throw new Error(`strict decoding error: ${all.join(", ")}`);
  return value;
}

function decodeAny(
  json: string,
  { kind, apiVersions, schema }: ConfigKind,
): { readonly value: unknown; readonly faults: readonly string[] } {
  const given = JSON.parse(json) as { kind?: unknown; apiVersion?: unknown } | null;
  if (!given?.kind) throw new Error(`Object 'Kind' is missing in '${json}'`);
  if (!given.apiVersion) throw new Error(`Object 'apiVersion' is missing in '${json}'`);
  if (given.kind !== kind || !apiVersions.includes(String(given.apiVersion))) {
    const what = `no kind ${goQuote(String(given.kind))} is registered for version`;
    throw new Error(`${what} ${goQuote(String(given.apiVersion))}, expected ${kind}`);
  }
  const decoded = decodeJson(schema, json);
  if (!decoded.ok) throw new Error(decoded.error);
  return { value: decoded.value, faults: decoded.strictErrors };
}

/** The object itself: its own fields beside kind and apiVersion. */
export function configSchema(
  goType: string,
  fields: Readonly<Record<string, FieldType>>,
): StructSchema {
  return struct(goType, { kind: STRING, apiVersion: STRING, ...fields });
}

export function struct(goType: string, types: Readonly<Record<string, FieldType>>): StructSchema {
  const fields = Object.entries(types).map(([name, type]): Field => {
    const pointer = "optional" in type;
    return {
      name,
      number: 0,
      schema: pointer ? type.optional : type,
      pointer,
      omitEmpty: true,
      omitZero: false,
      required: false,
      enum: undefined,
      default: undefined,
      patch: undefined,
      inlinedBy: [],
    };
  });
  return {
    shape: "struct",
    name: goType,
    proto: "",
    goType,
    fields,
    byName: new Map(fields.map((field) => [field.name, field])),
    atomic: false,
    preserveUnknown: false,
  };
}

export function listOf(item: Schema & { readonly goType: string }): Schema {
  return { shape: "list", item, listType: "atomic", keys: [], goType: `[]${item.goType}` };
}

export const STRING = scalar("string", "string");
export const BOOL = scalar("bool", "bool");
export const INT32 = scalar("int32", "int32");
export const DURATION = scalar("Duration", "v1.Duration");
export const ANY_CONFIG: AnySchema = { shape: "any", goType: "runtime.Unknown" };

function scalar(kind: Scalar, goType: string) {
  return { shape: "scalar", scalar: kind, goType } as const satisfies Schema;
}
