/** The keys that begin with a prefix, as a range. */

/** The first key that may begin with the prefix and comes after `after`. */
export function startOf(prefix: string, after: string | undefined): string {
  return after === undefined || after < prefix ? prefix : `${after}\0`;
}

/** The first key after all that begin with the prefix. */
export function endOf(prefix: string): string {
  const last = prefix.length - 1;
  return prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1);
}
