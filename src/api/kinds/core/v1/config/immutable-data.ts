/** What ConfigMaps and Secrets share: a size limit, and data that may be declared immutable. */
import { isEmptyCollection } from "#api/codec/empty-collections.ts";
import { type FieldError, forbidden } from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { Path } from "#api/validation/path.ts";

export const DATA_BYTES_MAX = 1024 * 1024;

/** How many bytes a base64 text stands for. */
export function base64Length(text: string): number {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return Math.floor((text.length * 3) / 4) - padding;
}

/** Once `immutable` is set, neither it nor the given fields can change. */
export function validateStillImmutable<T extends { readonly immutable?: boolean }>(
  next: T,
  old: T,
  fields: readonly (keyof T & string)[],
  filled?: keyof T & string,
): FieldError[] {
  if (old.immutable !== true) return [];
  const errors: FieldError[] = [];
  const detail = "field is immutable when `immutable` is set";
  if (next.immutable !== true) errors.push(forbidden(Path.of("immutable"), detail));
  for (const field of fields) {
    // An empty map differs from none, unless the kind has one always.
    const isNewlyEmpty =
      field !== filled && next[field] === undefined && isEmptyCollection(next, field);
    if (isNewlyEmpty || !semanticEqual(next[field], old[field])) {
      errors.push(forbidden(Path.of(field), detail));
    }
  }
  return errors;
}
