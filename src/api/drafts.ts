/** What prepare hooks do to drafts again and again. */
import type { ObjectMeta } from "#api/generated/meta.v1.ts";
import type { Draft, KubeObject } from "./kind.ts";

/**
 * Takes these fields from the old object, whatever the request says. The values are shared with
 * the old object, so nothing may change them afterwards.
 */
export function keepFields<T extends KubeObject>(
  draft: Draft<T>,
  old: T,
  ...fields: readonly (keyof T & keyof Draft<T>)[]
): void {
  for (const field of fields) {
    if (old[field] === undefined) delete draft[field];
    else draft[field] = old[field] as Draft<T>[typeof field];
  }
}

const NOT_BY_STATUS_WRITES = [
  "deletionTimestamp",
  "generation",
  "selfLink",
  "labels",
  "annotations",
  "finalizers",
  "ownerReferences",
] as const satisfies readonly (keyof ObjectMeta)[];

/** Some kinds let a status write change no metadata but managedFields. */
export function keepMetadataOnStatusWrite(draft: Draft<KubeObject>, old: KubeObject): void {
  const meta = draft.metadata as Record<string, unknown>;
  for (const field of NOT_BY_STATUS_WRITES) {
    if (old.metadata[field] === undefined) delete meta[field];
    else meta[field] = old.metadata[field];
  }
}

/** Others let it change managedFields and nothing else at all. */
export function keepAllMetadata(draft: Draft<KubeObject>, old: KubeObject): void {
  const { managedFields } = draft.metadata;
  const meta = { ...old.metadata } as Draft<ObjectMeta>;
  if (managedFields === undefined) delete meta.managedFields;
  else meta.managedFields = managedFields;
  draft.metadata = meta;
}
