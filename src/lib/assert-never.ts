/** Ends a switch over a closed union: a new member is a compile error here. */
export function assertNever(value: never): never {
  throw new Error(`not a member of the union: ${JSON.stringify(value)}`);
}
