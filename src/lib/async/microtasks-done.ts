/** Resolves when the microtask queue is empty: after everything that waits only for promises that are settled. */
export function microtasksDone(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
