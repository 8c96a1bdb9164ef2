/** metadata.managedFields of an object. */
import { isObject, type JsonObject } from "#api/patch/json-value.ts";

export function metadataOf(object: JsonObject | undefined): JsonObject {
  const metadata = object?.metadata;
  return isObject(metadata) ? metadata : {};
}

export function managedFieldsOf(object: JsonObject | undefined): unknown {
  return metadataOf(object).managedFields;
}

/** The object with other managedFields, or with none. */
export function withManagedFields(
  object: JsonObject,
  managedFields: readonly JsonObject[] | undefined,
): JsonObject {
  const old = metadataOf(object);
  if (old.managedFields === managedFields) return object;
  const metadata: Record<string, unknown> = {};
  for (const name in old) if (name !== "managedFields") metadata[name] = old[name];
  if (managedFields !== undefined) metadata.managedFields = managedFields;
  return { ...object, metadata };
}
