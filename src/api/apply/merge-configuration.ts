/**
 * Lays the configuration of a MutatingAdmissionPolicy over an object. It is merged as server-side apply
 * merges, but nothing is owned or removed, and lists, maps and structs that are replaced as a whole must
 * not be in it: what the configuration does not repeat of them would be lost.
 */
import { isObject, type JsonObject } from "#api/patch/json-value.ts";
import type { Schema, StructSchema } from "#api/schema/schema.ts";
import { mergeApplied } from "./merge.ts";
import { formatElement } from "./path-element.ts";
import { ItemError, memberElement, memberSchema, ownershipOf } from "./typed-values.ts";
import { appliedFault, liveFault } from "./validate.ts";

export type Merged =
  | { readonly ok: true; readonly value: JsonObject }
  | { readonly ok: false; readonly error: string };

export function mergeConfiguration(
  live: JsonObject,
  configuration: JsonObject,
  schema: StructSchema,
): Merged {
  const fault = appliedFault(configuration, schema);
  if (fault !== undefined) {
    return { ok: false, error: `failed to convert patch object to typed object: ${fault}` };
  }
  const atomics: string[] = [];
  findAtomics(configuration, schema, "", atomics);
  if (atomics.length > 0) {
    const paths = atomics.join(", ");
    const error = `invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${paths}`;
    return { ok: false, error };
  }
  try {
    return { ok: true, value: mergeApplied(live, configuration, schema) };
  } catch (error) {
    if (!(error instanceof ItemError)) throw error;
    const why = liveFault(live, schema) ?? error.message;
    return { ok: false, error: `failed to convert original object to typed object: ${why}` };
  }
}

function findAtomics(value: unknown, schema: Schema, path: string, into: string[]): void {
  if (Array.isArray(value)) {
    if (ownershipOf(value, schema) === "leaf") into.push(path);
    const item = schema.shape === "list" ? schema.item : schema;
    for (const [i, one] of value.entries()) findAtomics(one, item, `${path}[${i}]`, into);
  } else if (isObject(value)) {
    if (ownershipOf(value, schema) === "leaf") into.push(path);
    for (const [name, one] of Object.entries(value)) {
      const at = `${path}${formatElement(memberElement(schema, name))}`;
      findAtomics(one, memberSchema(schema, name), at, into);
    }
  }
}
