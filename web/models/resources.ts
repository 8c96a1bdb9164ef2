/** The kinds that discovery lists, and the paths of their collections, objects and views. Pure. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly subresources: readonly string[];
}

/** An APIGroupDiscoveryList of apidiscovery.k8s.io/v2. */
export interface Discovery {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions?: readonly {
      readonly version: string;
      readonly resources?: readonly {
        readonly resource: string;
        readonly responseKind?: { readonly kind?: string };
        readonly scope?: string;
        readonly verbs?: readonly string[];
        readonly shortNames?: readonly string[];
        readonly subresources?: readonly { readonly subresource: string }[];
      }[];
    }[];
  }[];
}

/** Each kind once, in its group's preferred version. Kinds that cannot be listed are left out. */
export function resourcesOf(...discoveries: readonly Discovery[]): readonly Resource[] {
  const found = new Map<string, Resource>();
  for (const item of discoveries.flatMap(({ items }) => items ?? [])) {
    const group = item.metadata?.name ?? "";
    for (const { version, resources } of item.versions ?? []) {
      for (const resource of resources ?? []) {
        const key = `${group}/${resource.resource}`;
        if (found.has(key) || !resource.verbs?.includes("list")) continue;
        found.set(key, {
          group,
          version,
          plural: resource.resource,
          kind: resource.responseKind?.kind ?? resource.resource,
          isNamespaced: resource.scope === "Namespaced",
          verbs: resource.verbs,
          shortNames: resource.shortNames ?? [],
          subresources: (resource.subresources ?? []).map(({ subresource }) => subresource),
        });
      }
    }
  }
  return [...found.values()];
}

export function findResource(
  resources: readonly Resource[],
  group: string,
  plural: string,
): Resource | undefined {
  return resources.find((each) => each.group === group && each.plural === plural);
}

/** By apiVersion and kind, as owner references and events name an object. */
export function resourceOfKind(
  resources: readonly Resource[],
  apiVersion: string,
  kind: string,
): Resource | undefined {
  const group = apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
  return resources.find((each) => each.group === group && each.kind === kind);
}

type Names = Pick<Resource, "group" | "version" | "plural">;

/** Without a namespace: of all namespaces. */
export function collectionPath({ group, version, plural }: Names, namespace = ""): string {
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const scope = namespace === "" ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}${scope}/${plural}`;
}

export function objectPath(resource: Names, namespace: string, name: string): string {
  return `${collectionPath(resource, namespace)}/${encodeURIComponent(name)}`;
}

export function tableLink({ group, plural }: Names, namespace = ""): string {
  const query = namespace === "" ? "" : `?namespace=${encodeURIComponent(namespace)}`;
  return `/list/${group || "core"}/${plural}${query}`;
}

export function objectLink({ group, plural }: Names, namespace: string, name: string): string {
  const parts = [group || "core", plural, namespace || "-", name];
  return `/object/${parts.map(encodeURIComponent).join("/")}`;
}
