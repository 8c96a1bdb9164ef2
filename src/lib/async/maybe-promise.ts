/**
 * What is there at once nearly always, and now and then only later. To wait costs a turn and a promise
 * even for what is there, so what many layers hand on is handed on as it is.
 */
export type MaybePromise<T> = T | Promise<T>;

/** Goes on with the value, at once if it is there. */
export function andThen<T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
