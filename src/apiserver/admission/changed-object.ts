/** Copies with other values in some fields, as mutating plug-ins return them. What stays is shared. */
import type { ObjectMeta } from "#api/generated/meta.v1.ts";

export function withFields<T extends object>(object: T, fields: Partial<T>): T {
  return { ...object, ...fields };
}

export function withSpec<Spec extends object, T extends { readonly spec: Spec }>(
  object: T,
  fields: Partial<T["spec"]>,
): T {
  return { ...object, spec: withFields(object.spec, fields) };
}

export function withMetadata<T extends { readonly metadata: ObjectMeta }>(
  object: T,
  fields: Partial<ObjectMeta>,
): T {
  return { ...object, metadata: withFields(object.metadata, fields) };
}
