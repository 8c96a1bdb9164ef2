/** Numbers that may also be given as a share of a whole: `3` or `"30%"`. */
import { type FieldError, invalid } from "./field-error.ts";
import { isPercent } from "./names.ts";
import { validateNonNegative } from "./object-meta.ts";
import type { Path } from "./path.ts";

export function validateIntOrPercent(value: number | string, path: Path): FieldError[] {
  if (typeof value === "number") return validateNonNegative(value, path);
  return isPercent(value).map((fault) => invalid(path, value, fault));
}

export function validateAtMost100Percent(value: number | string, path: Path): FieldError[] {
  const percent = typeof value === "string" && isPercent(value).length === 0;
  if (!percent || Number(value.slice(0, -1)) <= 100) return [];
  return [invalid(path, value, "must not be greater than 100%")];
}
