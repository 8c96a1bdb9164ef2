/**
 * Typed events without leaks.
 *
 * Promises:
 * 1. A listener lives until its signal aborts or its subscription is disposed of; nothing else
 *    keeps it. There is no limit that warns, because `listenerCount` can be asserted on.
 * 2. `emit` calls the listeners that were there when it began, in order of subscription. One that
 *    was removed meanwhile is not called.
 * 3. A listener that throws does not stop the others; `emit` throws the first error at the end.
 */
export class Emitter<Events extends Record<string, unknown>> {
  readonly #listeners = new Map<keyof Events, Set<(payload: never) => void>>();

  on<Name extends keyof Events>(
    name: Name,
    listener: (payload: Events[Name]) => void,
    signal?: AbortSignal,
  ): Disposable {
    const call = (payload: Events[Name]): void => listener(payload); // one listener may subscribe twice
    const off = (): void => {
      this.#listeners.get(name)?.delete(call);
      signal?.removeEventListener("abort", off);
    };
    if (signal?.aborted) return { [Symbol.dispose]: () => undefined };
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(call));
    signal?.addEventListener("abort", off, { once: true });
    return { [Symbol.dispose]: off };
  }

  emit<Name extends keyof Events>(name: Name, payload: Events[Name]): void {
    const listeners = this.#listeners.get(name);
    if (listeners === undefined) return;
    const errors: unknown[] = [];
    for (const listener of [...listeners] as ((payload: Events[Name]) => void)[]) {
      if (!listeners.has(listener)) continue;
      try {
        listener(payload);
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  listenerCount(name: keyof Events): number {
    return this.#listeners.get(name)?.size ?? 0;
  }
}
