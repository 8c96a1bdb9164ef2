/** Short hashes for names (of packet filter chains, sets) that must fit into the kernel's limits. */
import { createHash } from "node:crypto";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** The first `length` digits of the SHA-256 in base 32. */
export function shortHash(text: string, length: number): string {
  const bytes = createHash("sha256").update(text).digest();
  let bits = "";
  for (const byte of bytes) bits += byte.toString(2).padStart(8, "0");
  let hash = "";
  for (let i = 0; i < length; i++) {
    hash += ALPHABET[Number.parseInt(bits.slice(i * 5, i * 5 + 5), 2)];
  }
  return hash;
}
