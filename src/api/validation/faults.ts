/** Turns what a check of a single value found into errors of its field. */
import { type FieldError, invalid, notSupported } from "./field-error.ts";
import type { Path } from "./path.ts";

/** One error for each fault that a check such as `isDns1123Label` found. */
export function invalidEach(
  path: Path,
  value: unknown,
  faults: readonly string[],
): readonly FieldError[] {
  return faults.map((fault) => invalid(path, value, fault));
}

/** The value must be one of these; they are listed in this order. */
export function validateOneOf(
  path: Path,
  value: string,
  supported: readonly string[],
): readonly FieldError[] {
  return supported.includes(value) ? [] : [notSupported(path, value, supported)];
}
