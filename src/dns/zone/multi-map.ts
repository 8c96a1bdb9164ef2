/** Several values for a key. */
import { type FewValues, valuesOf, withoutValue, withValue } from "./few-values.ts";

export class MultiMap<K, V> {
  readonly #values = new Map<K, FewValues<V>>();

  get(key: K): readonly V[] {
    return valuesOf(this.#values.get(key));
  }

  add(key: K, value: V): void {
    this.#values.set(key, withValue(this.#values.get(key), value));
  }

  /** Removes the value once. */
  remove(key: K, value: V): void {
    const left = withoutValue(this.#values.get(key), value);
    if (left === undefined) this.#values.delete(key);
    else this.#values.set(key, left);
  }
}
