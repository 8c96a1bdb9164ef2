/**
 * What is there at once nearly always, and now and then only later. To wait costs a turn and a promise
 * even for what is there, so what many layers hand on is handed on as it is.
 */
export type Eventual<T> = T | Promise<T>;

/** Goes on with the value, at once if it is there. */
export function andThen<T, U>(value: Eventual<T>, next: (value: T) => Eventual<U>): Eventual<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
