/** Several values for a key. A key with one value costs no collection of its own. */
export class MultiMap<K, V> {
  readonly #values = new Map<K, readonly V[]>();

  get(key: K): readonly V[] {
    return this.#values.get(key) ?? [];
  }

  add(key: K, value: V): void {
    const known = this.#values.get(key);
    this.#values.set(key, known === undefined ? [value] : [...known, value]);
  }

  /** Removes the value once. */
  remove(key: K, value: V): void {
    const known = this.#values.get(key);
    if (known === undefined) return;
    const index = known.indexOf(value);
    if (index < 0) return;
    if (known.length === 1) this.#values.delete(key);
    else this.#values.set(key, known.toSpliced(index, 1));
  }
}
