/** What classes of storage share: who provides them, and parameters for that. */
import { type FieldError, invalid, required, tooLong } from "#api/validation/field-error.ts";
import { isQualifiedName } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";

const PARAMETERS_MAX = 512;
const PARAMETERS_BYTES_MAX = 256 * 1024;

export function validateProvider(name: string, path: Path): FieldError[] {
  if (name === "") return [required(path, "")];
  const lower = name.toLowerCase();
  return isQualifiedName(lower).map((fault) => invalid(path, lower, fault));
}

export function validateParameters(
  parameters: Readonly<Record<string, string>> = {},
  path: Path,
): FieldError[] {
  const entries = Object.entries(parameters);
  if (entries.length > PARAMETERS_MAX) return [tooLong(path, PARAMETERS_MAX)];
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of entries) {
    if (key === "") errors.push(invalid(path, key, "field can not be empty."));
    bytes += utf8Length(key) + utf8Length(value);
  }
  if (bytes > PARAMETERS_BYTES_MAX) errors.push(tooLong(path, PARAMETERS_BYTES_MAX));
  return errors;
}
