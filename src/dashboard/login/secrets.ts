/** Secrets are kept as digests only, in maps whose size is bounded. */
import { createHash } from "node:crypto";

export function digestOf(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

export function secretKey(secret: string): string {
  return digestOf(secret).toString("base64");
}

/** The entry becomes the newest. Returns the oldest one if it was dropped because of the limit. */
export function putNewest<T>(
  map: Map<string, T>,
  key: string,
  value: T,
  limit: number,
): T | undefined {
  map.delete(key);
  map.set(key, value);
  if (map.size <= limit) return undefined;
  const [oldest] = map;
  if (oldest === undefined) return undefined;
  map.delete(oldest[0]);
  return oldest[1];
}
