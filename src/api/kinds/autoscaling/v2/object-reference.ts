/** References to an object of the same namespace, in whatever version. */
import type { CrossVersionObjectReference } from "#api/generated/autoscaling.v2.ts";
import { invalidEach } from "#api/validation/faults.ts";
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import { isPathSegmentName } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";

export interface ReferenceOptions {
  /** Whatever the apiVersion says is fine. */
  readonly anyApiVersion?: boolean;
  /** The core group, which has no name, is fine. */
  readonly coreGroup: boolean;
}

export function validateObjectReference(
  reference: CrossVersionObjectReference,
  options: ReferenceOptions,
  path: Path,
): FieldError[] {
  const errors: FieldError[] = [];
  for (const field of ["kind", "name"] as const) {
    const value = reference[field];
    if (value === "") errors.push(required(path.child(field), ""));
    else errors.push(...invalidEach(path.child(field), value, isPathSegmentName(value)));
  }
  const fault = apiVersionFault(reference, options);
  if (fault !== undefined) {
    errors.push(invalid(path.child("apiVersion"), reference.apiVersion ?? "", fault));
  }
  return errors;
}

export function apiVersionFault(
  { apiVersion = "" }: CrossVersionObjectReference,
  { anyApiVersion, coreGroup }: ReferenceOptions,
): string | undefined {
  if (anyApiVersion) return undefined;
  const parts = apiVersion.split("/");
  if (parts.length > 2) return `unexpected GroupVersion string: ${apiVersion}`;
  const group = parts.length === 2 ? parts[0] : "";
  return group === "" && !coreGroup ? "apiVersion must specify API group" : undefined;
}
