/** Short hashes for names (of packet filter chains, sets) that must fit into the kernel's limits. */
import { hash } from "node:crypto";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** The first `length` digits of the SHA-256 in base 32. */
export function shortHash(text: string, length: number): string {
  const bytes = hash("sha256", text, "buffer");
  let digits = "";
  let bits = 0;
  let bitCount = 0;
  for (let at = 0; digits.length < length && at < bytes.length; at++) {
    bits = ((bits << 8) | bytes[at]!) & 0xfff;
    for (bitCount += 8; bitCount >= 5; bitCount -= 5) {
      digits += ALPHABET[(bits >> (bitCount - 5)) & 31];
    }
  }
  return digits.slice(0, length);
}
