/**
 * Which Services want an element of a set or map: a pod behind two Services, an external IP and port that
 * two Services claim. An element stays until the last owner has gone; among owners with different values
 * the one whose name sorts first wins.
 */
export class ElementOwners {
  /** Almost every element has one owner, which is not wrapped in a list. */
  readonly #owners = new Map<string, string | readonly string[]>();

  add(element: string, owner: string): void {
    const owners = this.of(element);
    if (owners.includes(owner)) return;
    this.#owners.set(element, owners.length === 0 ? owner : [...owners, owner].sort());
  }

  remove(element: string, owner: string): void {
    const [first, ...more] = this.of(element).filter((other) => other !== owner);
    if (first === undefined) this.#owners.delete(element);
    else this.#owners.set(element, more.length === 0 ? first : [first, ...more]);
  }

  /** In order of their names: the first one wins. */
  of(element: string): readonly string[] {
    const owners = this.#owners.get(element);
    if (owners === undefined) return [];
    return typeof owners === "string" ? [owners] : owners;
  }
}
