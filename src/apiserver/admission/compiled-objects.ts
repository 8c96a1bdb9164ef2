/**
 * All objects of one kind in the order of their names, compiled. Each is compiled once per revision, when
 * it is first needed after it changed. Nothing is done per request while nothing changes.
 */
import type { KindOf, KubeObject } from "#api/kind.ts";
import type { Objects } from "../storage/objects.ts";

interface Entry<Compiled> {
  readonly revision: string;
  readonly compiled: Compiled;
}

export class CompiledObjects<T extends KubeObject, Compiled> {
  readonly #list: () => Iterable<T>;
  readonly #compile: (object: T) => Compiled;
  #entries = new Map<string, Entry<Compiled>>();
  #all: readonly Compiled[] = [];
  #isStale = true;

  constructor(
    objects: Objects,
    kind: KindOf<T>,
    compile: (object: T) => Compiled,
    signal: AbortSignal,
  ) {
    this.#list = () => objects.list(kind);
    this.#compile = compile;
    objects.onChange(kind, () => this.invalidate(), signal);
  }

  /** Something that the compiled objects depend on has changed. */
  invalidate(): void {
    this.#isStale = true;
  }

  all(): readonly Compiled[] {
    if (!this.#isStale) return this.#all;
    this.#isStale = false;
    const entries = new Map<string, Entry<Compiled>>();
    const ordered = [...this.#list()].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
    for (const object of ordered) {
      const { uid = "", resourceVersion = "" } = object.metadata;
      const revision = `${uid}/${resourceVersion}`;
      const known = this.#entries.get(nameOf(object));
      const isSame = known !== undefined && known.revision === revision;
      entries.set(nameOf(object), isSame ? known : { revision, compiled: this.#compile(object) });
    }
    this.#entries = entries;
    this.#all = Array.from(entries.values(), ({ compiled }) => compiled);
    return this.#all;
  }
}

function nameOf({ metadata }: KubeObject): string {
  return metadata.name ?? "";
}
