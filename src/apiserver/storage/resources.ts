/**
 * Where the objects of a resource lie in the store: upstream's key layout, so that either server can
 * read the other's data.
 */
import type { Kind } from "#api/kind.ts";

/** Objects of one group and plural, whatever versions they are served in. */
export interface StoredResource {
  readonly group: string;
  readonly plural: string;
  /** The version in which objects are stored and validated. */
  readonly kind: Kind;
  /** All versions that an object may have been written in. */
  readonly versions: readonly Kind[];
  /** Where keys begin, with a slash at the end: `/registry/pods/`. */
  readonly prefix: string;
}

export interface ServedResource {
  readonly kind: Kind;
  readonly stored: StoredResource;
}

export const REGISTRY = "/registry/";

/** The key of an object; cluster-scoped ones have no namespace in it. */
export function keyOf(stored: StoredResource, namespace: string, name: string): string {
  return stored.kind.scope === "Namespaced"
    ? `${stored.prefix}${namespace}/${name}`
    : `${stored.prefix}${name}`;
}
