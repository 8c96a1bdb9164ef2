/** Values that show whether they are whole, shared by the writer that is killed and its inspector. */
import { createHash } from "node:crypto";

export function pairKeys(writer: number): [left: string, right: string] {
  return [`/pair/${writer}/left`, `/pair/${writer}/right`];
}

/** The number, padding, and a hash of both. */
export function wholeValue(number: number, length: number): Uint8Array {
  const body = `${number}`.padStart(12, "0").padEnd(length, "x");
  return Buffer.from(body + hashOf(body));
}

/** Throws if the value is not exactly one that `wholeValue` made. */
export function numberIn(value: Uint8Array | undefined): number {
  const text = Buffer.from(value ?? []).toString();
  const body = text.slice(0, -HASH_LENGTH);
  if (hashOf(body) !== text.slice(-HASH_LENGTH))
    throw new Error(`half a value: ${text.slice(0, 40)}`);
  return Number(body.slice(0, 12));
}

const HASH_LENGTH = 16;

function hashOf(body: string): string {
  return createHash("sha256").update(body).digest("hex").slice(0, HASH_LENGTH);
}
