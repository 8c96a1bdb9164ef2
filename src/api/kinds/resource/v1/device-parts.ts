/** Parts that claims, classes and allocations share: selectors, configurations, tolerations. */
import { isEmptyCollection } from "#api/codec/empty-collections.ts";
import { expressionError } from "#api/expressions.ts";
import type {
  Device,
  DeviceConfiguration,
  DeviceSelector,
  DeviceTaint,
  DeviceToleration,
} from "#api/generated/resource.v1.ts";
import type { Draft, RuleContext } from "#api/kind.ts";
import { invalidEach, validateOneOf } from "#api/validation/faults.ts";
import {
  duplicate,
  type FieldError,
  invalid,
  notSupported,
  required,
  tooLong,
} from "#api/validation/field-error.ts";
import { validateLabelName as validateLabelKey } from "#api/validation/labels.ts";
import { isLabelValue } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import { validateDriverName } from "./device-names.ts";
import { validateList } from "./lists.ts";

const SELECTORS_MAX = 32;
export const CONFIGS_MAX = 32;
const EXPRESSION_BYTES_MAX = 10 * 1024;
const PARAMETERS_BYTES_MAX = 10 * 1024;
const BINDING_CONDITIONS_MAX = 4;
const TAINT_EFFECTS = ["NoExecute", "NoSchedule", "None"];

export function validateSelectors(
  selectors: readonly DeviceSelector[] | undefined,
  stored: boolean,
  context: RuleContext,
  path: Path,
): FieldError[] {
  return validateList(
    selectors,
    SELECTORS_MAX,
    ({ cel }, at) => {
      if (cel === undefined) return [required(at.child("cel"), "")];
      const expressionPath = at.child("cel", "expression");
      const { expression } = cel;
      if (utf8Length(expression) > EXPRESSION_BYTES_MAX) {
        return [tooLong(expressionPath, EXPRESSION_BYTES_MAX)];
      }
      const faults = context.expressions?.device(expression, stored) ?? [];
      return faults.flatMap((fault) => expressionError(expressionPath, expression, fault));
    },
    path,
  );
}

export function validateConfiguration(
  { opaque }: DeviceConfiguration,
  stored: boolean,
  path: Path,
): FieldError[] {
  const at = path.child("opaque");
  if (opaque === undefined) return [required(at, "")];
  return [
    ...validateDriverName(opaque.driver, at.child("driver")),
    ...validateObject(
      opaque.parameters,
      stored ? Infinity : PARAMETERS_BYTES_MAX,
      at.child("parameters"),
    ),
  ];
}

/** Free JSON that must be an object of limited size. */
export function validateObject(value: unknown, bytesMax: number, path: Path): FieldError[] {
  if (value === undefined || value === null) return [required(path, "")];
  if (utf8Length(JSON.stringify(value)) > bytesMax) return [tooLong(path, bytesMax)];
  if (typeof value === "object" && !Array.isArray(value)) return [];
  return [invalid(path, "<value omitted>", "must be a valid JSON object")];
}

export function validateTaint(
  { key, value = "", effect }: DeviceTaint,
  old: DeviceTaint | undefined,
  path: Path,
): FieldError[] {
  const errors = validateLabelKey(key, path.child("key"));
  if (value !== "") errors.push(...invalidEach(path.child("value"), value, isLabelValue(value)));
  if (old?.effect === effect) return errors;
  const at = path.child("effect");
  if (effect === "") errors.push(required(at, ""));
  else errors.push(...validateOneOf(at, effect, TAINT_EFFECTS));
  return errors;
}

export function defaultTolerations(
  tolerations: Draft<readonly DeviceToleration[]> | undefined,
): void {
  for (const toleration of tolerations ?? []) toleration.operator ??= "Equal";
}

export function validateToleration(toleration: DeviceToleration, path: Path): FieldError[] {
  const { key = "", operator = "", value = "", effect = "" } = toleration;
  const errors: FieldError[] = [];
  if (key !== "") errors.push(...validateLabelKey(key, path.child("key")));
  const at = path.child("operator");
  switch (operator) {
    case "Exists":
      if (value !== "") {
        errors.push(invalid(path.child("value"), value, "must be empty for operator `Exists`"));
      }
      break;
    case "Equal":
      errors.push(...invalidEach(path.child("value"), value, isLabelValue(value)));
      break;
    case "":
      errors.push(required(at, ""));
      break;
    default:
      errors.push(notSupported(at, operator, ["Equal", "Exists"]));
  }
  if (effect !== "") errors.push(...validateOneOf(path.child("effect"), effect, TAINT_EFFECTS));
  return errors;
}

/** Conditions that a device's driver sets before a pod may be bound, and those that end the wait. */
export function validateBindingConditions(
  device: Pick<Device, "bindingConditions" | "bindingFailureConditions">,
  path: Path,
): FieldError[] {
  const { bindingConditions: wanted = [], bindingFailureConditions: failed = [] } = device;
  const wantedPath = path.child("bindingConditions");
  const failedPath = path.child("bindingFailureConditions");
  const errors = [
    ...validateList(wanted, BINDING_CONDITIONS_MAX, validateLabelKey, wantedPath),
    ...validateList(failed, BINDING_CONDITIONS_MAX, validateLabelKey, failedPath),
  ];
  for (const [i, condition] of wanted.entries()) {
    if (wanted.indexOf(condition) < i) errors.push(duplicate(wantedPath.index(i), condition));
  }
  for (const [i, condition] of failed.entries()) {
    if (failed.indexOf(condition) < i) errors.push(duplicate(failedPath.index(i), condition));
    if (wanted.includes(condition)) {
      const detail = "bindingFailureConditions must not overlap with bindingConditions";
      errors.push(invalid(failedPath.index(i), condition, detail));
    }
  }
  if (wanted.length === 0 && failed.length > 0) {
    const detail = "bindingConditions are required to use bindingFailureConditions";
    errors.push(
      invalid(wantedPath, isEmptyCollection(device, "bindingConditions") ? [] : null, detail),
    );
  }
  if (failed.length === 0 && wanted.length > 0) {
    const detail = "bindingFailureConditions are required to use bindingConditions";
    errors.push(
      invalid(
        failedPath,
        isEmptyCollection(device, "bindingFailureConditions") ? [] : null,
        detail,
      ),
    );
  }
  return errors;
}
