/**
 * Equality of values of normalised objects, and the fields that an update must leave alone.
 *
 * An absent list and an empty one are equal; absent maps are never present as empty ones after
 * normalisation, so an empty object is a struct that was given and differs from an absent one.
 */
import { type FieldError, invalid } from "./field-error.ts";
import type { Path } from "./path.ts";

export function validateImmutableField(next: unknown, old: unknown, path: Path): FieldError[] {
  return semanticEqual(next, old) ? [] : [invalid(path, next, "field is immutable")];
}

export function semanticEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) || Array.isArray(b)) return listsEqual(a ?? [], b ?? []);
  if (!isRecord(a) || !isRecord(b)) return (a ?? undefined) === (b ?? undefined);
  for (const key of Object.keys(a)) if (!semanticEqual(a[key], b[key])) return false;
  for (const key of Object.keys(b))
    if (!(key in a) && !semanticEqual(undefined, b[key])) return false;
  return true;
}

function listsEqual(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
  return a.every((item, i) => semanticEqual(item, b[i]));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
