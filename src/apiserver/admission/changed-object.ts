/** Copies with other values in some fields, as mutating plug-ins return them. What stays is shared. */
import { carryGiven } from "#api/codec/given-empty.ts";
import type { ObjectMeta } from "#api/generated/meta.v1.ts";

export function withFields<T extends object>(object: T, fields: Partial<T>): T {
  return carryGiven(object, { ...object, ...fields });
}

export function withSpec<Spec extends object, T extends { readonly spec: Spec }>(
  object: T,
  fields: Partial<T["spec"]>,
): T {
  return carryGiven(object, { ...object, spec: withFields(object.spec, fields) });
}

export function withMetadata<T extends { readonly metadata: ObjectMeta }>(
  object: T,
  fields: Partial<ObjectMeta>,
): T {
  return carryGiven(object, { ...object, metadata: withFields(object.metadata, fields) });
}
