/** Waiting for a client to keep up. */

/** Resolves at the next drain, or when the client is gone. */
export function drainOf(writable: NodeJS.EventEmitter, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      writable.off("drain", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    if (signal.aborted) {
      resolve();
      return;
    }
    writable.on("drain", done);
    signal.addEventListener("abort", done, { once: true });
  });
}
