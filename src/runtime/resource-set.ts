/**
 * The resources that a controller over many kinds follows, as they come and go.
 *
 * Promises:
 * 1. A follower is called once for each resource that is there or comes later, with a signal that aborts
 *    when the resource goes or the follower stops.
 * 2. A resource whose group serves it in another version now goes and comes again. Nothing else about
 *    it makes it go.
 */
import { onAbort } from "#lib/async/aborted.ts";
import type { Resource } from "./controller.ts";

type Join = (resource: Resource, until: AbortSignal) => void;

interface Follower {
  readonly join: Join;
  /** By resource. */
  readonly lives: Map<string, AbortController>;
}

export class ResourceSet {
  readonly #resources = new Map<string, Resource>();
  readonly #followers = new Set<Follower>();
  #all: readonly Resource[] = [];

  constructor(resources: readonly Resource[] = []) {
    this.update(resources);
  }

  all(): readonly Resource[] {
    return this.#all;
  }

  /** From now on there are these, and no others. */
  update(resources: readonly Resource[]): void {
    const next = new Map(resources.map((resource) => [idOf(resource), resource]));
    const gone = [...this.#resources.keys()].filter((id) => !next.has(id));
    const fresh = [...next].filter(([id]) => !this.#resources.has(id));
    this.#resources.clear();
    for (const [id, resource] of next) this.#resources.set(id, resource);
    this.#all = [...next.values()];
    for (const follower of this.#followers) {
      for (const id of gone) leave(follower, id);
      for (const [id, resource] of fresh) join(follower, id, resource);
    }
  }

  follow(call: Join, signal: AbortSignal): void {
    if (signal.aborted) return;
    const follower: Follower = { join: call, lives: new Map() };
    this.#followers.add(follower);
    onAbort(signal, () => {
      this.#followers.delete(follower);
      for (const id of [...follower.lives.keys()]) leave(follower, id);
    });
    for (const [id, resource] of this.#resources) join(follower, id, resource);
  }
}

function join(follower: Follower, id: string, resource: Resource): void {
  const life = new AbortController();
  follower.lives.set(id, life);
  follower.join(resource, life.signal);
}

function leave({ lives }: Follower, id: string): void {
  lives.get(id)?.abort();
  lives.delete(id);
}

function idOf({ apiVersion, names, scope }: Resource): string {
  return `${apiVersion} ${names.plural} ${names.kind} ${scope}`;
}
