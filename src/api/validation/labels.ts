/** Rules of labels, annotations and label selectors. */
import type { LabelSelector, LabelSelectorRequirement } from "#api/generated/meta.v1.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import { type FieldError, forbidden, invalid, required, tooLong } from "./field-error.ts";
import { isLabelValue, isQualifiedName } from "./names.ts";
import type { Path } from "./path.ts";

const ANNOTATIONS_BYTES_MAX = 256 * 1024;

export interface LabelSelectorOptions {
  /** Tolerates values that an earlier version let pass: for updates of such objects only. */
  readonly allowInvalidLabelValue?: boolean;
  /** Tolerates unknown operators: for access reviews. */
  readonly allowUnknownOperator?: boolean;
}

export function validateLabels(
  labels: Readonly<Record<string, string>> | undefined,
  path: Path,
): FieldError[] {
  const errors: FieldError[] = [];
  // There may be many: keys are quicker than entries, and most have no fault.
  for (const key of Object.keys(labels ?? {})) {
    const value = labels![key]!;
    for (const fault of isQualifiedName(key)) errors.push(invalid(path, key, fault));
    for (const fault of isLabelValue(value)) errors.push(invalid(path, value, fault));
  }
  return errors;
}

export function validateLabelName(name: string, path: Path): FieldError[] {
  return isQualifiedName(name).map((fault) => invalid(path, name, fault));
}

/** Keys are qualified names whatever their case; all keys and values together have a size limit. */
export function validateAnnotations(
  annotations: Readonly<Record<string, string>> | undefined,
  path: Path,
): FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const key of Object.keys(annotations ?? {})) {
    for (const fault of isQualifiedName(key.toLowerCase())) errors.push(invalid(path, key, fault));
    bytes += utf8Length(key) + utf8Length(annotations![key]!);
  }
  if (bytes > ANNOTATIONS_BYTES_MAX) errors.push(tooLong(path, ANNOTATIONS_BYTES_MAX));
  return errors;
}

export function validateLabelSelector(
  selector: LabelSelector | undefined,
  options: LabelSelectorOptions,
  path: Path,
): FieldError[] {
  if (selector === undefined) return [];
  const errors = validateLabels(selector.matchLabels, path.child("matchLabels"));
  for (const [i, requirement] of (selector.matchExpressions ?? []).entries()) {
    const at = path.child("matchExpressions").index(i);
    errors.push(...validateLabelSelectorRequirement(requirement, options, at));
  }
  return errors;
}

export function validateLabelSelectorRequirement(
  { key, operator, values = [] }: LabelSelectorRequirement,
  options: LabelSelectorOptions,
  path: Path,
): FieldError[] {
  const errors = validateOperator(operator, values, options, path);
  errors.push(...validateLabelName(key, path.child("key")));
  if (options.allowInvalidLabelValue) return errors;
  for (const [i, value] of values.entries()) {
    const at = path.child("values").index(i);
    for (const fault of isLabelValue(value)) errors.push(invalid(at, value, fault));
  }
  return errors;
}

/** True for a stored selector whose values an update must go on tolerating. */
export function selectorHasInvalidLabelValue(selector: LabelSelector | undefined): boolean {
  return (selector?.matchExpressions ?? []).some(({ values = [] }) =>
    values.some((value) => isLabelValue(value).length > 0),
  );
}

function validateOperator(
  operator: string,
  values: readonly string[],
  { allowUnknownOperator }: LabelSelectorOptions,
  path: Path,
): FieldError[] {
  switch (operator) {
    case "In":
    case "NotIn":
      if (values.length > 0) return [];
      return [
        required(path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'"),
      ];
    case "Exists":
    case "DoesNotExist":
      if (values.length === 0) return [];
      return [
        forbidden(
          path.child("values"),
          "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        ),
      ];
    default:
      if (allowUnknownOperator) return [];
      return [invalid(path.child("operator"), operator, "not a valid selector operator")];
  }
}
