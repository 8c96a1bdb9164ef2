/** Conditions of flow control objects: each type once, and named. */
import { duplicate, type FieldError, required } from "#api/validation/field-error.ts";
import { Path } from "#api/validation/path.ts";

export function validateStatusConditions(
  conditions: readonly { readonly type?: string }[] = [],
): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [i, { type = "" }] of conditions.entries()) {
    const at = Path.of("status", "conditions").index(i).child("type");
    if (seen.has(type)) errors.push(duplicate(at, type));
    if (type === "") errors.push(required(at, ""));
    seen.add(type);
  }
  return errors;
}
