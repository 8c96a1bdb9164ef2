/** Objects by the part of their name before the last dash: those that are named after one object. */
import type { KubeObject } from "#api/kind.ts";
import type { Caches, Feed, IndexSpec } from "#runtime/controller.ts";

const NAME_PREFIX = "namePrefix";

export function byNamePrefix<T extends KubeObject>(kind: Feed<T>["kind"]): IndexSpec<T> {
  return {
    kind,
    name: NAME_PREFIX,
    values: ({ metadata: { namespace = "", name = "" } }) => {
      const dash = name.lastIndexOf("-");
      return dash < 0 ? [] : [`${namespace}/${name.slice(0, dash)}`];
    },
  };
}

/** Whatever has a name of the form `prefix-…` in the namespace, by its name. Needs the index. */
export function namedAfter<T extends KubeObject>(
  caches: Caches,
  kind: Feed<T>["kind"],
  namespace: string | undefined,
  prefix: string,
): ReadonlyMap<string, T> {
  const found = new Map<string, T>();
  for (const object of caches(kind).byIndex(NAME_PREFIX, `${namespace ?? ""}/${prefix}`)) {
    found.set(object.metadata.name ?? "", object);
  }
  return found;
}
