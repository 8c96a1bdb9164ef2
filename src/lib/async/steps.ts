/**
 * Long computation in steps: a generator that yields where the computation may pause. Whether it
 * does is the caller's decision: `finish` runs it at once, `WorkPace.run` lets other work of the
 * process run in between.
 */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Runs all steps without a pause. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Steps of a computation that has nothing left to do. */
// biome-ignore lint/correctness/useYield: there is nothing to pause for
export function* finished<T>(value: T): Steps<T> {
  return value;
}
