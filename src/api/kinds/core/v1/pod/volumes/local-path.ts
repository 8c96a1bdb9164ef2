/** Relative paths below a folder: they must not lead out of it. */
import { type FieldError, invalid } from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";

/** Relative, and without a step up. */
export function validateDescendingPath(text: string, path: Path, errors: FieldError[]): void {
  if (text.startsWith("/")) errors.push(invalid(path, text, "must be a relative path"));
  validateNoBacksteps(text, path, errors);
}

/** A descending path whose first part is not one of the names that volumes keep for themselves. */
export function validateLocalPath(text: string, path: Path, errors: FieldError[]): void {
  validateDescendingPath(text, path, errors);
  if (text.startsWith("..") && !text.startsWith("../")) {
    errors.push(invalid(path, text, "must not start with '..'"));
  }
}

export function validateNoBacksteps(text: string, path: Path, errors: FieldError[]): void {
  if (hasBackstep(text)) errors.push(invalid(path, text, "must not contain '..'"));
}

export function hasBackstep(text: string): boolean {
  return text.includes("..") && text.split("/").includes("..");
}

export function isLocalPath(text: string): boolean {
  return !text.startsWith("/") && !text.startsWith("..") && !hasBackstep(text);
}
