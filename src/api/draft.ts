/** Helpers for hooks that change drafts. */
import type { Draft } from "#api/kind.ts";

/** Takes over a part of the old object as it is. It stays frozen: replace it, never change it. */
export function keep<T>(value: T): Draft<T> {
  return value as Draft<T>;
}

/** Sets an optional field of a draft, or removes it. */
export function assign<T extends object, Key extends keyof T>(
  draft: T,
  key: Key,
  value: T[Key] | undefined,
): void {
  if (value === undefined) delete draft[key];
  else draft[key] = value;
}
