/** The faults of an object: found at once or, where that may take long, in steps. */
import type { Steps } from "#lib/async/steps.ts";
import type { FieldError } from "./field-error.ts";

export type FieldErrors = readonly FieldError[] | Steps<readonly FieldError[]>;

/** Whether the faults are still to be found, step by step. */
export function isStepwise(
  errors: FieldErrors | undefined,
): errors is Steps<readonly FieldError[]> {
  return errors !== undefined && "next" in errors;
}

/** None if there is nothing to check. */
export function* fieldErrorSteps(errors: FieldErrors | undefined): Steps<readonly FieldError[]> {
  if (errors === undefined) return [];
  return isStepwise(errors) ? yield* errors : errors;
}
