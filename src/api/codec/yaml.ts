/**
 * YAML of built-in types, both ways: read as kubectl and the API server read it, written as they
 * write it. A YAML text is turned into JSON first, keys sorted, and then decoded like any JSON, so
 * that faults read the same.
 */
import type { StructSchema } from "#api/schema/schema.ts";
import { type Decoded, decodeJson, encodeJson, parsePlainJson } from "./json.ts";
import { findLeadingTab } from "./yaml-errors.ts";
import { readYaml } from "./yaml-reader.ts";
import { writeYaml } from "./yaml-writer.ts";

export type YamlAsJson =
  | {
      readonly ok: true;
      readonly json: string;
      /** What a strict reader says about keys that stand there twice. */
      readonly strictErrors: readonly string[];
    }
  | { readonly ok: false; readonly error: string };

/** The first document as JSON text. */
export function yamlToJson(text: string): YamlAsJson {
  const quick = text.startsWith("{") ? plainJson(text) : undefined;
  if (quick !== undefined) return { ok: true, json: quick, strictErrors: [] };
  const tab = findLeadingTab(text);
  if (tab !== undefined) return { ok: false, error: tab };
  const read = readYaml(text);
  if (!read.ok) return read;
  const number = findUnsupported(read.value);
  if (number !== undefined) return { ok: false, error: `json: unsupported value: ${number}` };
  const duplicates = read.duplicates.map((duplicate) => `\n  ${duplicate}`).join("");
  return {
    ok: true,
    json: encodeJson(sorted(read.value)),
    strictErrors: duplicates === "" ? [] : [`yaml: unmarshal errors:${duplicates}`],
  };
}

/** JSON is YAML, and clients that apply send it: undefined if the two might read it differently. */
function plainJson(text: string): string | undefined {
  const value = parsePlainJson(text);
  return value === undefined ? undefined : encodeJson(sorted(value));
}

export function decodeYaml(schema: StructSchema, text: string): Decoded {
  const converted = yamlToJson(text);
  if (!converted.ok) return converted;
  const decoded = decodeJson(schema, converted.json);
  if (!decoded.ok) return decoded;
  return { ...decoded, strictErrors: [...converted.strictErrors, ...decoded.strictErrors] };
}

export function encodeYaml(value: unknown): string {
  return writeYaml(value);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, member]) => [key, sorted(member)]));
}

/** JSON has no infinity and no not-a-number. */
function findUnsupported(value: unknown): string | undefined {
  if (typeof value === "number" && !Number.isFinite(value)) {
    return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
  }
  if (typeof value !== "object" || value === null) return undefined;
  for (const member of Object.values(value)) {
    const found = findUnsupported(member);
    if (found !== undefined) return found;
  }
  return undefined;
}
