/** What a type looks like before anything is set: the fields that are written even when empty. */
import { normalizerOf } from "#api/codec/normalizer.ts";
import type { JsonObject } from "#api/patch/json-value.ts";
import type { StructSchema } from "#api/schema/schema.ts";

export function emptyObject(schema: StructSchema): JsonObject {
  let empty = emptyObjects.get(schema);
  if (empty === undefined) {
    empty = normalizerOf(schema)({});
    emptyObjects.set(schema, empty);
  }
  return empty;
}

// Memory of pure results.
const emptyObjects = new WeakMap<StructSchema, JsonObject>();
