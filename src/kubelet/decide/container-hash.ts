/** Detects whether the definition of a container changed since it was started: by name and image. */
import type { Container } from "#api/generated/core.v1.ts";

const encoder = new TextEncoder();

const ASCII_MAX = 0x7f;

/** FNV-1a of 32 bits over UTF-8, in hexadecimal. */
export function containerHash({ name, image = "" }: Pick<Container, "name" | "image">): string {
  const text = JSON.stringify({ name, image });
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    const byte = text.charCodeAt(index);
    if (byte > ASCII_MAX) return hashOf(encoder.encode(text));
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return hash.toString(16);
}

function hashOf(bytes: Uint8Array): string {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash.toString(16);
}
