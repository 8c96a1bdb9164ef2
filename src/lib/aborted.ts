/**
 * Listening to a signal that may have aborted already: `addEventListener` alone would wait for ever
 * for what is over.
 */

/** Calls once: at once if the signal has aborted, otherwise when it does. */
export function onAbort(signal: AbortSignal, call: () => void): void {
  if (signal.aborted) call();
  else signal.addEventListener("abort", call, { once: true });
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => onAbort(signal, resolve));
}
