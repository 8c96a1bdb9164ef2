/** Helpers for hooks that change drafts. */
import type { Draft, KubeObject } from "#api/kind.ts";

/** Takes over a part of the old object as it is. It stays frozen: replace it, never change it. */
export function keep<T>(value: T): Draft<T> {
  return value as Draft<T>;
}

/** Sets an optional field of a draft, or removes it. */
export function assign<T extends object, Key extends keyof T>(
  draft: T,
  key: Key,
  value: T[Key] | undefined,
): void {
  if (value === undefined) delete draft[key];
  else draft[key] = value;
}

/** For status writes that must not touch metadata: takes over all that a client could change. */
export function keepMetadata({ metadata }: Draft<KubeObject>, old: KubeObject): void {
  keepFields(
    metadata,
    old.metadata,
    "annotations",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "labels",
    "ownerReferences",
    "selfLink",
  );
}

/** Some kinds let a status write change managedFields and nothing else of metadata at all. */
export function keepAllMetadata(draft: Draft<KubeObject>, old: KubeObject): void {
  const { managedFields } = draft.metadata;
  draft.metadata = { ...keep(old.metadata) };
  assign(draft.metadata, "managedFields", managedFields);
}

/** Takes over these fields of the old object, whatever the request says. */
export function keepFields<T extends object>(
  draft: Draft<T>,
  old: T,
  ...fields: readonly (keyof T & keyof Draft<T>)[]
): void {
  for (const field of fields) assign(draft, field, keep(old[field]) as Draft<T>[typeof field]);
}
