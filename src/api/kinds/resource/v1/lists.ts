/** Lists and maps with a limit: one that is too long is not looked at any further. */
import { duplicate, type FieldError, tooMany } from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";

export function validateList<T>(
  items: readonly T[] | null | undefined,
  max: number,
  validateItem: (item: T, path: Path) => readonly FieldError[],
  path: Path,
): FieldError[] {
  const list = items ?? [];
  if (list.length > max) return [tooMany(path, list.length, max)];
  return list.flatMap((item, i) => validateItem(item, path.index(i)));
}

/** No two items may have the same key; `show` is how the key stands in the message. */
export function validateSet<T>(
  items: readonly T[] | null | undefined,
  max: number,
  validateItem: (item: T, path: Path) => readonly FieldError[],
  keyOf: (item: T) => string,
  path: Path,
  show: (item: T) => unknown = keyOf,
): FieldError[] {
  const errors = validateList(items, max, validateItem, path);
  if ((items ?? []).length > max) return errors;
  const seen = new Set<string>();
  for (const [i, item] of (items ?? []).entries()) {
    const key = keyOf(item);
    if (seen.has(key)) errors.push(duplicate(path.index(i), show(item)));
    seen.add(key);
  }
  return errors;
}

export function validateMap<T>(
  map: Readonly<Record<string, T>> | undefined,
  max: number,
  keyBytesShown: number,
  validateKey: (key: string, path: Path) => readonly FieldError[],
  validateItem: (item: T, path: Path) => readonly FieldError[],
  path: Path,
): FieldError[] {
  const entries = Object.entries(map ?? {});
  if (entries.length > max) return [tooMany(path, entries.length, max)];
  return entries.flatMap(([key, item]) => [
    ...validateKey(key, path),
    ...validateItem(item, path.key(shorten(key, keyBytesShown))),
  ]);
}

/** Keeps both ends of a key that would make a path too long. */
function shorten(text: string, max: number): string {
  if (utf8Length(text) <= max) return text;
  const kept = max - 3;
  return `${text.slice(0, Math.floor((kept + 1) / 2))}...${text.slice(text.length - Math.floor(kept / 2))}`;
}
