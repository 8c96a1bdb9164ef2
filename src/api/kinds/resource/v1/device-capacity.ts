/** A capacity that several claims share: in which portions it may be asked for. */
import type {
  CapacityRequestPolicy,
  CapacityRequestPolicyRange,
  DeviceCapacity,
} from "#api/generated/resource.v1.ts";
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  quantityOf,
  quantityValue,
} from "#api/meta/quantity.ts";
import { type FieldError, forbidden, invalid, required } from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";
import { validateSet } from "./lists.ts";

const VALID_VALUES_MAX = 10;

export function validateCapacity(
  { value, requestPolicy: policy }: DeviceCapacity,
  shared: boolean,
  path: Path,
): FieldError[] {
  if (policy === undefined) return [];
  const at = path.child("requestPolicy");
  if (!shared) return [forbidden(at, "allowMultipleAllocations must be true")];
  const { validValues = [], validRange } = policy;
  if (validValues.length > 0 && validRange !== undefined) {
    const detail =
      'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time';
    return [forbidden(at, detail)];
  }
  if (validValues.length > 0) return validateValues(value, policy, at);
  if (validRange !== undefined)
    return validateRange(value, policy.default ?? undefined, validRange, at);
  return [];
}

function isMore(a: string, b: string): boolean {
  return compareQuantities(quantityOf(a), quantityOf(b)) > 0;
}

function validateValues(capacity: string, policy: CapacityRequestPolicy, path: Path): FieldError[] {
  const values = policy.validValues ?? [];
  const wanted = policy.default ?? undefined;
  if (wanted === undefined) {
    return [required(path.child("default"), "required when validValues is defined")];
  }
  const at = path.child("validValues");
  const errors: FieldError[] = [];
  for (const [i, value] of values.entries()) {
    if (i > 0 && isMore(values[i - 1]!, value)) {
      errors.push(invalid(at.index(i), value, "values must be sorted in ascending order"));
    }
  }
  const validate = (value: string, where: Path) =>
    isMore(value, capacity)
      ? [invalid(where, value, `option is larger than capacity value: ${capacity}`)]
      : [];
  const keyOf = (value: string) => String(quantityValue(quantityOf(value)));
  errors.push(...validateSet(values, VALID_VALUES_MAX, validate, keyOf, at));
  const found =
    values.length <= VALID_VALUES_MAX &&
    values.some((value) => compareQuantities(quantityOf(value), quantityOf(wanted)) === 0);
  if (!found) {
    const detail = "default value is not valid according to the requestPolicy";
    errors.push(invalid(at, wanted, detail));
  }
  return errors;
}

function validateRange(
  capacity: string,
  wanted: string | undefined,
  { min, max, step }: CapacityRequestPolicyRange,
  path: Path,
): FieldError[] {
  if (wanted === undefined) {
    return [required(path.child("default"), "required when validRange is defined")];
  }
  const at = path.child("validRange");
  if (min === undefined) {
    return [required(at.child("min"), "required when validRange is defined")];
  }
  const errors: FieldError[] = [];
  const fault = (field: string, value: string, detail: string) =>
    errors.push(invalid(at.child(field), value, detail));
  if (isMore(min, capacity)) fault("min", min, `min is larger than capacity value: ${capacity}`);
  if (isMore(min, wanted)) fault("min", wanted, `default is less than min: ${min}`);
  if (max !== undefined) {
    if (isMore(min, max)) fault("max", min, `min is larger than max: ${max}`);
    if (isMore(max, capacity)) {
      fault("max", max, `max is larger than capacity value: ${capacity}`);
    }
    if (isMore(wanted, max)) fault("max", wanted, `default is more than max: ${max}`);
  }
  if (step !== undefined) {
    const first = formatQuantity(addQuantities(quantityOf(min), quantityOf(step)));
    if (isMore(first, capacity)) {
      fault("step", step, `one step ${first} is larger than capacity value: ${capacity}`);
    }
    for (const value of [wanted, ...(max === undefined ? [] : [max])]) {
      if (isOnStep(value, min, step)) continue;
      const detail = `value is not a multiple of a given step (${step}) from (${min})`;
      fault("step", value, detail);
    }
  }
  return errors;
}

function isOnStep(value: string, min: string, step: string): boolean {
  const [v, m, s] = [value, min, step].map(wholeUnits) as [number, number, number];
  return s !== 0 && (v - m) % s === 0;
}

/** What is too large to count counts as nothing. */
function wholeUnits(text: string): number {
  const value = quantityValue(quantityOf(text));
  return Math.abs(value) < 2 ** 63 ? value : 0;
}
