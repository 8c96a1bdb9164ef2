/** Objects of one namespace by name, as far as they are there: a part of what `decide` reads. */
import type { KubeObject } from "#api/kind.ts";
import type { Caches, Feed } from "#runtime/controller.ts";

export function foundByName<T extends KubeObject>(
  caches: Caches,
  kind: Feed<T>["kind"],
  namespace: string | undefined,
  names: Iterable<string>,
): ReadonlyMap<string, T> {
  const found = new Map<string, T>();
  for (const name of names) {
    if (name === "" || found.has(name)) continue;
    const object = caches(kind).get(namespace, name);
    if (object !== undefined) found.set(name, object);
  }
  return found;
}
