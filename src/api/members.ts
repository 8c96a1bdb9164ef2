/**
 * An object seen by the names of its members, and back. Both are views, not copies. They are safe
 * because objects are plain JSON values all the way down, never instances of a class; what the type
 * says of them is made true by the decoder of their schema, not by these functions.
 */
import type { KubeObject } from "#api/kind.ts";
import type { JsonObject } from "#api/patch/json-value.ts";

export function membersOf(object: object): JsonObject {
  return object as JsonObject;
}

/** Of members that have been through the schema of a kind, or come from such an object. */
export function objectOf(members: JsonObject): KubeObject {
  return members as JsonObject & KubeObject;
}
