/** Work that is done in steps: at once, or with pauses in which other work may run. */
import type { MaybePromise } from "#lib/async/maybe-promise.ts";

/** Asked between two steps: undefined to go on, else what to wait for first. */
export type Pause = () => Promise<void> | undefined;

/** Without any pause. */
export function resultOf<T>(steps: Generator<void, T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

export function resultInSlices<T>(steps: Generator<void, T>, pause: Pause): MaybePromise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    const paused = pause();
    if (paused !== undefined) return paused.then(() => resultInSlices(steps, pause));
  }
}
