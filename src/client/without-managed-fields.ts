import type { KubeObject } from "#api/kind.ts";

/**
 * For the caches of a process that parses objects itself: managedFields are about a third of a pod, and
 * controllers never read them. An update without them leaves them as they are.
 */
export function withoutManagedFields<T extends KubeObject>(object: T): T {
  const { managedFields, ...metadata } = object.metadata;
  return managedFields === undefined ? object : { ...object, metadata };
}
