/** Which pod a container or sandbox of the runtime belongs to, so that its events wake the right worker. */

export class RunIndex {
  readonly #podOf = new Map<string, string>();
  readonly #idsOf = new Map<string, Set<string>>();

  add(uid: string, id: string): void {
    this.#podOf.set(id, uid);
    const ids = this.#idsOf.get(uid) ?? new Set();
    ids.add(id);
    this.#idsOf.set(uid, ids);
  }

  /** These and no others belong to the pod. */
  replace(uid: string, ids: Iterable<string>): void {
    this.remove(uid);
    for (const id of ids) this.add(uid, id);
  }

  remove(uid: string): void {
    for (const id of this.#idsOf.get(uid) ?? []) this.#podOf.delete(id);
    this.#idsOf.delete(uid);
  }

  podOf(id: string): string | undefined {
    return this.#podOf.get(id);
  }
}
