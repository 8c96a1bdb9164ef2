/** A word as a POSIX shell reads it back, whatever is in it; unchanged if it has nothing special. */
export function shellQuoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
