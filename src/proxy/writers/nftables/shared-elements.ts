/**
 * Elements of sets and maps that several Services may want: a pod behind two Services, an external IP
 * and port that two Services claim. An element stays until the last owner has gone; among owners with
 * different values the one whose name sorts first wins.
 */
export class SharedElements {
  readonly #owners = new Map<string, Map<string, string>>();

  add(element: string, owner: string, value: string): void {
    const owners = this.#owners.get(element) ?? new Map<string, string>();
    this.#owners.set(element, owners);
    owners.set(owner, value);
  }

  remove(element: string, owner: string): void {
    const owners = this.#owners.get(element);
    owners?.delete(owner);
    if (owners?.size === 0) this.#owners.delete(element);
  }

  /** Undefined if no owner is left. */
  value(element: string): string | undefined {
    const owners = this.#owners.get(element);
    if (owners === undefined) return undefined;
    let first: string | undefined;
    for (const owner of owners.keys()) if (first === undefined || owner < first) first = owner;
    return first === undefined ? undefined : owners.get(first);
  }
}
