/** Versions of a kind that differ from the stored one in nothing but their name. */
import { builtInSchema } from "#api/schema/from-facts.ts";
import { defineKind, type KindOf, type KindSpec, type KubeObject, type StoredAs } from "./kind.ts";

/** The same kind served under another version as well. `type` names its struct in the fact tables. */
export function alsoServedAs<T extends KubeObject>(
  stored: KindSpec<T>,
  version: string,
  type: string,
  changes: Partial<KindSpec<T>> = {},
): KindOf<T> {
  return defineKind<T>({
    ...stored,
    version,
    schema: builtInSchema(type),
    storedAs: renamedOnly(stored, version),
    ...changes,
  });
}

function renamedOnly<T extends KubeObject>(stored: KindSpec<T>, version: string): StoredAs<T> {
  const { group } = stored;
  return {
    group,
    version: stored.version,
    toStored: (object) => ({ ...object, apiVersion: `${group}/${stored.version}` }),
    fromStored: (object) => ({ ...object, apiVersion: `${group}/${version}` }) as T,
  };
}
