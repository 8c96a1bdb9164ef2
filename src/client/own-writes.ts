/**
 * Waits for own writes to appear in a cache.
 *
 * Promises:
 * 1. A change of an object costs as much as there are waits for that object, however many others wait.
 * 2. A signal gets one listener, however many waits it can end.
 */

/** The state of an object after a write, as the cache must show it. */
export interface Expectation {
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string;
  /** Undefined: the object was deleted, or is marked as being deleted. */
  readonly resourceVersion: string | undefined;
}

interface Wait {
  readonly key: string;
  readonly expected: Expectation;
  readonly group: SignalGroup;
  resolve(): void;
  reject(reason: unknown): void;
}

interface SignalGroup {
  readonly signal: AbortSignal;
  readonly waits: Set<Wait>;
  readonly onAbort: () => void;
}

export class OwnWrites {
  readonly #byKey = new Map<string, Set<Wait>>();
  readonly #bySignal = new Map<AbortSignal, SignalGroup>();

  /** Resolves when `settle` finds the write, rejects when the signal aborts. */
  wait(key: string, expected: Expectation, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const group = this.#groupOf(signal);
      const wait: Wait = { key, expected, group, resolve, reject };
      group.waits.add(wait);
      const waits = this.#byKey.get(key);
      if (waits === undefined) this.#byKey.set(key, new Set([wait]));
      else waits.add(wait);
    });
  }

  /** The object with this key has changed. */
  settle(key: string, isSeen: (expected: Expectation) => boolean): void {
    for (const wait of this.#byKey.get(key) ?? []) {
      if (!isSeen(wait.expected)) continue;
      this.#remove(wait);
      wait.resolve();
    }
  }

  #groupOf(signal: AbortSignal): SignalGroup {
    let group = this.#bySignal.get(signal);
    if (group === undefined) {
      group = { signal, waits: new Set(), onAbort: () => this.#abort(signal) };
      signal.addEventListener("abort", group.onAbort, { once: true });
      this.#bySignal.set(signal, group);
    }
    return group;
  }

  #abort(signal: AbortSignal): void {
    for (const wait of this.#bySignal.get(signal)?.waits ?? []) {
      this.#remove(wait);
      wait.reject(signal.reason);
    }
  }

  #remove(wait: Wait): void {
    const { key, group } = wait;
    const waits = this.#byKey.get(key);
    waits?.delete(wait);
    if (waits?.size === 0) this.#byKey.delete(key);
    group.waits.delete(wait);
    if (group.waits.size > 0) return;
    group.signal.removeEventListener("abort", group.onAbort);
    this.#bySignal.delete(group.signal);
  }
}
