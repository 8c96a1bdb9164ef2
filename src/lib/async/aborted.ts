/**
 * Listening to a signal that may have aborted already: `addEventListener` alone would wait for ever
 * for what is over.
 */
import { setMaxListeners } from "node:events";

/** Calls once: at once if the signal has aborted, otherwise when it does. */
export function onAbort(signal: AbortSignal, call: () => void): void {
  if (signal.aborted) call();
  else signal.addEventListener("abort", call, { once: true });
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => onAbort(signal, resolve));
}

/** Aborts with another, and any number may listen: Node takes more than ten for a leak and says so. */
export function signalForMany(signal: AbortSignal): AbortSignal {
  const own = new AbortController();
  setMaxListeners(0, own.signal);
  onAbort(signal, () => own.abort(signal.reason));
  return own.signal;
}
