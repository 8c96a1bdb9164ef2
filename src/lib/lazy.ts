/**
 * A constant that is made when it is first asked for, for those that cost too much to make them at every
 * start of a program that may never need them.
 */
export function lazy<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
