/** A task that says once that others may rely on it, and ends later. */
import { deferred } from "./deferred.ts";

export interface ReadyAndDone {
  /** Resolves when the task has called `onReady`; rejects if it fails before. */
  readonly ready: Promise<void>;
  readonly done: Promise<void>;
}

export function readyAndDone(run: (onReady: () => void) => Promise<void>): ReadyAndDone {
  const ready = deferred<void>();
  const done = run(ready.resolve);
  done.catch(ready.reject);
  ready.promise.catch(() => undefined); // `done` rejects with the same error
  return { ready: ready.promise, done };
}
