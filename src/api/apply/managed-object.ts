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
  const old = managedFieldsOf(object);
  if (old === managedFields) return object;
  const { managedFields: _, ...metadata } = metadataOf(object);
  return {
    ...object,
    metadata: managedFields === undefined ? metadata : { ...metadata, managedFields },
  };
}
