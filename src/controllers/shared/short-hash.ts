/** A short hash for names. Without vowels and look-alikes, so that none spells a word. */
const SAFE_ALPHABET = "bcdfghjklmnpqrstvwxz2456789";

export function shortHash(text: string): string {
  let hash = 0x811c9dc5; // FNV-1a, 32 bits
  for (const byte of new TextEncoder().encode(text)) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return [...String(hash)]
    .map((c) => SAFE_ALPHABET[c.charCodeAt(0) % SAFE_ALPHABET.length])
    .join("");
}
