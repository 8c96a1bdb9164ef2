/**
 * What most built-in kinds ask of metadata beyond the rules of `object-meta.ts`: finalizers are
 * qualified names, or one of the few old ones.
 *
 * The server checks metadata once for every write. On updates most kinds check it again themselves,
 * so that clients find the same fault in several causes of a Status; the `validate…` functions here
 * are those further checks.
 */
import type { ObjectMeta } from "#api/generated/meta.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { FIELD_ERRORS_MAX } from "#api/meta/status.ts";
import { type FieldError, invalid } from "./field-error.ts";
import {
  type ObjectMetaOptions,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from "./object-meta.ts";
import { Path } from "./path.ts";

export const METADATA = Path.of("metadata");

const OLD_FINALIZERS = ["kubernetes", "orphan", "foregroundDeletion"];

/** Of a new object: the server has checked the rest. */
export function validateFinalizers({ finalizers }: ObjectMeta): FieldError[] {
  if (finalizers === undefined) return [];
  const path = METADATA.child("finalizers");
  const errors: FieldError[] = [];
  for (let i = 0; i < finalizers.length && errors.length <= FIELD_ERRORS_MAX; i++) {
    errors.push(...validateKubeFinalizer(finalizers[i]!, path.index(i)));
  }
  return errors;
}

export function validateKubeFinalizer(name: string, path: Path): FieldError[] {
  if (name.includes("/") || OLD_FINALIZERS.includes(name)) return [];
  const detail = "name is neither a standard finalizer name nor is it fully qualified";
  return [invalid(path, name, detail)];
}

/** All rules of new metadata. */
export function validateKubeMeta(metadata: ObjectMeta, options: ObjectMetaOptions): FieldError[] {
  return [...validateObjectMeta(metadata, options, METADATA), ...validateFinalizers(metadata)];
}

/** All rules of changed metadata. */
export function validateKubeMetaUpdate(next: KubeObject, old: KubeObject): FieldError[] {
  return [
    ...validateObjectMetaUpdate(next.metadata, old.metadata, METADATA),
    ...validateFinalizers(next.metadata),
  ];
}
