/**
 * What was read from the store together with everything else and belongs to no resource yet: objects of
 * custom resources, until their definitions have been read. Their resources need not read it again.
 *
 * Promises:
 * 1. What `take` returns are the entries that are in the store now: a change of one makes all of its
 *    resource unknown.
 * 2. Each is handed out once.
 */
import type { Entry } from "#store/contract.ts";
import { REGISTRY } from "../storage/resources.ts";

export class UnclaimedEntries {
  readonly #byPrefix = new Map<string, Entry[]>();
  /** Prefixes of resources that have to be read. */
  readonly #unknown = new Set<string>();

  add(entry: Entry): void {
    const prefix = prefixOf(entry.key);
    const entries = this.#byPrefix.get(prefix);
    if (entries === undefined) this.#byPrefix.set(prefix, [entry]);
    else entries.push(entry);
  }

  /** The object of this key has been changed, made or deleted. */
  noticeChange(key: string): void {
    this.#forget(prefixOf(key));
  }

  /** All entries under the prefix of a custom resource; undefined if they have to be read. */
  take(prefix: string): readonly Entry[] | undefined {
    if (this.#unknown.has(prefix)) return undefined;
    const entries = this.#byPrefix.get(prefix) ?? [];
    this.#forget(prefix);
    return entries;
  }

  #forget(prefix: string): void {
    this.#unknown.add(prefix);
    this.#byPrefix.delete(prefix);
  }
}

/** `/registry/GROUP/PLURAL/` of an object of a custom resource. */
function prefixOf(key: string): string {
  const group = key.indexOf("/", REGISTRY.length) + 1;
  return key.slice(0, key.indexOf("/", group) + 1);
}
