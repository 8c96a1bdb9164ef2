/** Removes from a merged object what its applier applied before, does not apply now, and no other manager owns. */
import type { JsonObject } from "#api/patch/json-value.ts";
import type { StructSchema } from "#api/schema/schema.ts";
import {
  difference,
  EMPTY_SET,
  type FieldSet,
  intersection,
  isEmptySet,
  union,
} from "./field-set.ts";
import { fieldsOf } from "./fields-of.ts";
import type { Manager } from "./managers.ts";
import { removeFields } from "./remove.ts";
import { withNamedFields } from "./schema-sets.ts";
import type { Versions } from "./versions.ts";

/**
 * `managers` are all of them as they are now, the applier with what it applies; `last` is the
 * applier as it was. `merged` and the result are in the version of the request.
 */
export function pruned(
  merged: JsonObject,
  managers: readonly Manager[],
  last: Manager | undefined,
  versions: Versions,
): JsonObject {
  if (last === undefined || isOwned(last, managers)) return merged;
  const schema = versions.schema(last.apiVersion);
  if (schema === undefined) return merged;
  const full = versions.convert(merged, versions.own, last.apiVersion);
  const before = withNamedFields(last.fields, schema);
  const bare = without(full, before, schema);
  const owned = withOwned(full, bare, last.apiVersion, managers, versions);
  const gone = difference(namedFieldsOf(full, schema), namedFieldsOf(owned, schema));
  const result = without(full, intersection(gone, before), schema);
  return versions.convert(result, last.apiVersion, versions.own);
}

/** Whether all fields that the applier had are still applied by a manager: then nothing is removed. */
function isOwned({ fields, apiVersion }: Manager, managers: readonly Manager[]): boolean {
  const owned = ownedByVersion(apiVersion, managers).get(apiVersion) ?? EMPTY_SET;
  return isEmptySet(difference(fields, owned));
}

/** The bare object with what any manager owns put back, version by version. */
function withOwned(
  full: JsonObject,
  bare: JsonObject,
  version: string,
  managers: readonly Manager[],
  versions: Versions,
): JsonObject {
  let at = version;
  for (const [apiVersion, managed] of ownedByVersion(version, managers)) {
    const schema = versions.schema(apiVersion);
    if (schema === undefined) continue;
    full = versions.convert(full, at, apiVersion);
    bare = versions.convert(bare, at, apiVersion);
    at = apiVersion;
    const keep = union(namedFieldsOf(bare, schema), withNamedFields(managed, schema));
    bare = without(full, difference(namedFieldsOf(full, schema), keep), schema);
  }
  return versions.convert(bare, at, version);
}

/** The objects' own version comes first, so that conversions find what they need. */
function ownedByVersion(first: string, managers: readonly Manager[]): Map<string, FieldSet> {
  const owned = new Map<string, FieldSet>();
  const start = managers.filter(({ apiVersion }) => apiVersion === first);
  for (const { apiVersion, fields } of [...start, ...managers]) {
    owned.set(apiVersion, union(owned.get(apiVersion) ?? EMPTY_SET, fields));
  }
  return owned;
}

function namedFieldsOf(object: JsonObject, schema: StructSchema): FieldSet {
  return withNamedFields(fieldsOf(object, schema), schema);
}

function without(object: JsonObject, fields: FieldSet, schema: StructSchema): JsonObject {
  return (removeFields(object, fields, schema) ?? {}) as JsonObject;
}
