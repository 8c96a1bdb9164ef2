/** Detects whether the definition of a container changed since it was started: by name and image. */
import type { Container } from "#api/generated/core.v1.ts";

const encoder = new TextEncoder();

/** FNV-1a of 32 bits, in hexadecimal. */
export function containerHash({ name, image = "" }: Pick<Container, "name" | "image">): string {
  let hash = 0x811c9dc5;
  for (const byte of encoder.encode(JSON.stringify({ name, image }))) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return hash.toString(16);
}
