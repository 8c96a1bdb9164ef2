/**
 * Which resources the server has, in which versions, and where their objects are stored. It is open:
 * resources may be added, replaced and removed while the server runs, and whatever depends on them
 * (watch caches, discovery, OpenAPI, admission) follows.
 *
 * Promises:
 * 1. The key is group and resource (the plural). All versions of a resource come and go together.
 * 2. A change first shows when it has been prepared, which means that the objects of a new resource
 *    have been loaded. Then look-ups show it and listeners are called, all in one turn of the event
 *    loop, so that nothing sees half of a change. A change that cannot be prepared has no effect.
 * 3. Changes take effect one after another, in the order in which they were asked for.
 * 4. A look-up costs the same however many resources there are.
 */
import type { Kind } from "#api/kind.ts";
import { Emitter } from "#lib/events.ts";
import { REGISTRY, type ServedResource, type StoredResource } from "../storage/resources.ts";

/** All versions of one resource. */
export interface ResourceDefinition {
  /**
   * Of one group and plural. One of them is the version that is stored, and has no `storedAs`; unless
   * all are stored as objects of another group.
   */
  readonly kinds: readonly Kind[];
  /** Which versions clients may use; all unless given. The others can still be read from the store. */
  isServed?(kind: Kind): boolean;
}

export interface RegisteredResource {
  readonly group: string;
  readonly plural: string;
  readonly kinds: readonly Kind[];
  readonly stored: StoredResource;
  readonly served: readonly ServedResource[];
  /** Its objects are its own; false for what is stored as objects of another group. */
  readonly ownsStorage: boolean;
}

/** `old` is undefined for what is added, `next` for what is removed. */
export interface RegistryChange {
  readonly old: RegisteredResource | undefined;
  readonly next: RegisteredResource | undefined;
}

/** Makes ready for a change and calls `commit` in the turn in which it is. */
export type Prepare = (change: RegistryChange, commit: () => void) => Promise<void>;

export class KindRegistry {
  readonly #resources = new Map<string, RegisteredResource>();
  readonly #served = new Map<string, ServedResource>();
  readonly #storedByKind = new Map<Kind, StoredResource>();
  readonly #kinds = new Map<string, Kind>();
  /** How many versions of resources each group serves. */
  readonly #groups = new Map<string, number>();
  readonly #changes = new Emitter<{ change: RegistryChange }>();
  #prepare: Prepare = async (_, commit) => commit();
  #last: Promise<void> = Promise.resolve();

  /** The kinds that are there from the start. */
  constructor(kinds: Iterable<Kind>, isServed: (kind: Kind) => boolean = () => true) {
    const byResource = new Map<string, Kind[]>();
    for (const kind of kinds) {
      const name = `${kind.group}/${kind.names.plural}`;
      byResource.set(name, [...(byResource.get(name) ?? []), kind]);
    }
    // Resources with objects of their own come before those that are stored as theirs.
    const order = ([first]: readonly Kind[]): number => (isStoredElsewhere(first!) ? 1 : 0);
    const ordered = [...byResource.values()].sort((a, b) => order(a) - order(b));
    for (const all of ordered) this.#insert(this.#resourceOf({ kinds: all, isServed }));
  }

  /** Resolves when it is served. Rejects if there is a resource of that name. */
  add(definition: ResourceDefinition): Promise<void> {
    return this.#inTurn(() => {
      const next = this.#resourceOf(definition);
      const { group, plural } = next;
      if (this.resource(group, plural) !== undefined) throw new Error(`${nameOf(next)} is there`);
      return { old: undefined, next };
    });
  }

  /** Resolves when it is served as defined now. Watches of it end, as they do when it is removed. */
  replace(definition: ResourceDefinition): Promise<void> {
    return this.#inTurn(() => {
      const next = this.#resourceOf(definition);
      const old = this.resource(next.group, next.plural);
      if (old === undefined) throw new Error(`${nameOf(next)} is not there`);
      return { old, next };
    });
  }

  /** Resolves when it is not served any more. Its objects stay in the store. */
  remove(group: string, plural: string): Promise<void> {
    return this.#inTurn(() => {
      const old = this.resource(group, plural);
      return old === undefined ? undefined : { old, next: undefined };
    });
  }

  /** Called after every change, in the turn in which it shows. */
  onChange(listener: (change: RegistryChange) => void, signal?: AbortSignal): void {
    this.#changes.on("change", listener, signal);
  }

  /** What has to be done before a change shows. There is one such step. */
  prepareWith(prepare: Prepare): void {
    this.#prepare = prepare;
  }

  find(group: string, version: string, plural: string): ServedResource | undefined {
    return this.#served.get(`${group}/${version}/${plural}`);
  }

  resource(group: string, plural: string): RegisteredResource | undefined {
    return this.#resources.get(`${group}/${plural}`);
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

  *served(): Iterable<ServedResource> {
    for (const { served } of this.#resources.values()) yield* served;
  }

  /** Those with objects of their own. */
  *stored(): Iterable<StoredResource> {
    for (const { ownsStorage, stored } of this.#resources.values()) if (ownsStorage) yield stored;
  }

  #inTurn(decide: () => RegistryChange | undefined): Promise<void> {
    const done = this.#last.then(async () => {
      const change = decide();
      if (change !== undefined) await this.#prepare(change, () => this.#commit(change));
    });
    this.#last = done.catch(() => undefined);
    return done;
  }

  #commit(change: RegistryChange): void {
    const { old, next } = change;
    if (old !== undefined) this.#delete(old);
    if (next !== undefined) this.#insert(next);
    this.#changes.emit("change", change);
  }

  #insert(resource: RegisteredResource): void {
    const { group, plural, kinds, stored, served } = resource;
    this.#resources.set(`${group}/${plural}`, resource);
    for (const kind of kinds) {
      this.#kinds.set(`${kind.apiVersion} ${kind.names.kind}`, kind);
      this.#storedByKind.set(kind, stored);
    }
    for (const one of served) this.#served.set(servedKey(one.kind), one);
    if (served.length > 0) this.#groups.set(group, (this.#groups.get(group) ?? 0) + served.length);
  }

  #delete({ group, plural, kinds, served }: RegisteredResource): void {
    this.#resources.delete(`${group}/${plural}`);
    for (const kind of kinds) {
      const name = `${kind.apiVersion} ${kind.names.kind}`;
      if (this.#kinds.get(name) === kind) this.#kinds.delete(name);
      this.#storedByKind.delete(kind);
    }
    for (const { kind } of served) this.#served.delete(servedKey(kind));
    const left = (this.#groups.get(group) ?? 0) - served.length;
    if (left > 0) this.#groups.set(group, left);
    else this.#groups.delete(group);
  }

  #resourceOf({ kinds, isServed = () => true }: ResourceDefinition): RegisteredResource {
    const [first] = kinds;
    if (first === undefined) throw new Error("a resource has at least one version");
    const { group, names } = first;
    const { plural } = names;
    if (kinds.some((kind) => kind.group !== group || kind.names.plural !== plural)) {
      throw new Error(`not all versions are of ${group}/${plural}`);
    }
    const ownsStorage = !isStoredElsewhere(first);
    const stored = ownsStorage ? storedResource(kinds) : this.#findStored(first);
    const served = kinds.filter(isServed).map((kind) => ({ kind, stored }));
    return { group, plural, kinds, stored, served, ownsStorage };
  }

  #findStored({ storedAs, group, names, apiVersion }: Kind): StoredResource {
    const found = this.resource(storedAs?.group ?? group, names.plural);
    if (found === undefined) throw new Error(`${apiVersion} ${names.kind} is not stored`);
    return found.stored;
  }
}

function isStoredElsewhere({ group, storedAs }: Kind): boolean {
  return storedAs !== undefined && storedAs.group !== group;
}

function storedResource(kinds: readonly Kind[]): StoredResource {
  const [kind, ...others] = kinds.filter(({ storedAs }) => storedAs === undefined);
  if (kind === undefined || others.length > 0) {
    throw new Error(`one version of ${kinds[0]!.names.plural} is the stored one`);
  }
  const { group, names, storagePath = names.plural } = kind;
  return {
    group,
    plural: names.plural,
    kind,
    versions: kinds,
    prefix: `${REGISTRY}${storagePath}/`,
  };
}

function servedKey(kind: Kind): string {
  return `${kind.group}/${kind.version}/${kind.names.plural}`;
}

function nameOf({ group, plural }: RegisteredResource): string {
  return group === "" ? plural : `${plural}.${group}`;
}
