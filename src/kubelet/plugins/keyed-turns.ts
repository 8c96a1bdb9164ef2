/** Work under one key is done one after the other; keys do not wait for each other. */
export class KeyedTurns {
  readonly #last = new Map<string, Promise<unknown>>();

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const done = before.then(work);
    const settled = done.catch(() => undefined);
    this.#last.set(key, settled);
    try {
      return await done;
    } finally {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    }
  }
}
