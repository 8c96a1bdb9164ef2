/**
 * Which resources are served, and where their objects lie in the store: upstream's key layout, so
 * that either server can read the other's data.
 */
import type { Kind } from "#api/kind.ts";

/** Objects of one group and plural, whatever versions they are served in. */
export interface StoredResource {
  readonly group: string;
  readonly plural: string;
  /** The version in which objects are stored and validated. */
  readonly kind: Kind;
  /** Where keys begin, with a slash at the end: `/registry/pods/`. */
  readonly prefix: string;
}

export interface ServedResource {
  readonly kind: Kind;
  readonly stored: StoredResource;
}

export const REGISTRY = "/registry/";

export class Resources {
  readonly #served = new Map<string, ServedResource>();
  readonly #stored = new Map<string, StoredResource>();
  readonly #storedByKind = new Map<Kind, StoredResource>();
  readonly #kinds = new Map<string, Kind>();
  readonly #groups = new Set<string>();

  /** All kinds can be read from the store, also in versions that are not served. */
  constructor(kinds: Iterable<Kind>, isServed: (kind: Kind) => boolean = () => true) {
    const all = [...kinds];
    for (const kind of all) if (kind.storedAs === undefined) this.#addStored(kind);
    for (const kind of all) {
      this.#kinds.set(`${kind.apiVersion} ${kind.names.kind}`, kind);
      this.#addVersion(kind, isServed(kind));
    }
  }

  find(group: string, version: string, plural: string): ServedResource | undefined {
    return this.#served.get(`${group}/${version}/${plural}`);
  }

  /** Whether anything of the group is served. */
  hasGroup(group: string): boolean {
    return this.#groups.has(group);
  }

  /** The kind that an object of this apiVersion and kind is of. */
  findKind(apiVersion: string, kindName: string): Kind | undefined {
    return this.#kinds.get(`${apiVersion} ${kindName}`);
  }

  storedOf(kind: Kind): StoredResource {
    return this.#storedByKind.get(kind) ?? this.#findStored(kind);
  }

  served(): Iterable<ServedResource> {
    return this.#served.values();
  }

  stored(): Iterable<StoredResource> {
    return this.#stored.values();
  }

  #findStored(kind: Kind): StoredResource {
    const group = kind.storedAs?.group ?? kind.group;
    const stored = this.#stored.get(`${group}/${kind.names.kind}`);
    if (stored === undefined)
      throw new Error(`nobody stores ${kind.apiVersion} ${kind.names.kind}`);
    return stored;
  }

  #addStored(kind: Kind): void {
    const { group } = kind;
    const { plural } = kind.names;
    this.#stored.set(`${group}/${kind.names.kind}`, {
      group,
      plural,
      kind,
      prefix: `${REGISTRY}${kind.storagePath ?? plural}/`,
    });
  }

  #addVersion(kind: Kind, isServed: boolean): void {
    const stored = this.#findStored(kind);
    this.#storedByKind.set(kind, stored);
    if (!isServed) return;
    this.#served.set(servedKey(kind), { kind, stored });
    this.#groups.add(kind.group);
  }
}

/** The key of an object; cluster-scoped ones have no namespace in it. */
export function keyOf(stored: StoredResource, namespace: string, name: string): string {
  return stored.kind.scope === "Namespaced"
    ? `${stored.prefix}${namespace}/${name}`
    : `${stored.prefix}${name}`;
}

function servedKey(kind: Kind): string {
  return `${kind.group}/${kind.version}/${kind.names.plural}`;
}
