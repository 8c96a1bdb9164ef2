/** The faults of an object: found at once or, where that may take long, in steps. */
import type { Steps } from "#lib/async/steps.ts";
import type { FieldError } from "./field-error.ts";

export type FieldErrors = readonly FieldError[] | Steps<readonly FieldError[]>;

/** None if there is nothing to check. */
export function* fieldErrorSteps(errors: FieldErrors | undefined): Steps<readonly FieldError[]> {
  if (errors === undefined) return [];
  return "next" in errors ? yield* errors : errors;
}
