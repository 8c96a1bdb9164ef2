/** Which taints of nodes a pod puts up with. */
import type { Toleration } from "#api/generated/core.v1.ts";
import { int64Fault } from "#api/meta/parse-int.ts";
import { type FieldError, forbidden, invalid, notSupported } from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { validateLabelName } from "#api/validation/labels.ts";
import { isLabelValue } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import { TAINT_EFFECTS } from "../../node/taint.ts";
import type { PodRules } from "../rules.ts";

export function validateTolerations(
  tolerations: readonly Toleration[],
  rules: Pick<PodRules, "allowComparingTolerations">,
  path: Path,
  errors: FieldError[],
): void {
  for (const [i, toleration] of tolerations.entries()) {
    const { key = "", operator = "", effect = "" } = toleration;
    const at = path.index(i);
    if (key !== "") errors.push(...validateLabelName(key, at.child("key")));
    else if (operator !== "Exists") {
      const detail =
        'operator must be Exists when `key` is empty, which means "match all values and all keys"';
      errors.push(invalid(at.child("operator"), operator, detail));
    }
    if (toleration.tolerationSeconds !== undefined && effect !== "NoExecute") {
      const detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
      errors.push(invalid(at.child("effect"), effect, detail));
    }
    validateOperator(toleration, rules, at, errors);
    if (effect !== "" && !TAINT_EFFECTS.includes(effect)) {
      errors.push(notSupported(at.child("effect"), effect, TAINT_EFFECTS));
    }
  }
}

/** A pod may get more tolerations and other times, but keeps those that it has. */
export function validateTolerationUpdate(
  tolerations: readonly Toleration[],
  old: readonly Toleration[],
  rules: PodRules,
  path: Path,
  errors: FieldError[],
): void {
  const kept = old.every((before) => tolerations.some((now) => sameButSeconds(now, before)));
  if (kept) validateTolerations(tolerations, rules, path, errors);
  else {
    const detail = "existing toleration can not be modified except its tolerationSeconds";
    errors.push(forbidden(path, detail));
  }
}

function sameButSeconds(a: Toleration, b: Toleration): boolean {
  const { tolerationSeconds: _a, ...restA } = a;
  const { tolerationSeconds: _b, ...restB } = b;
  return semanticEqual(restA, restB);
}

function validateOperator(
  { operator = "", value = "" }: Toleration,
  { allowComparingTolerations }: Pick<PodRules, "allowComparingTolerations">,
  path: Path,
  errors: FieldError[],
): void {
  const at = path.child("operator");
  switch (operator) {
    case "":
    case "Equal": {
      const faults = isLabelValue(value);
      if (faults.length > 0) errors.push(invalid(at, value, faults.join(";")));
      return;
    }
    case "Exists":
      if (value !== "") {
        errors.push(invalid(at, value, "value must be empty when `operator` is 'Exists'"));
      }
      return;
    case "Lt":
    case "Gt":
      if (!allowComparingTolerations) {
        errors.push(notSupported(at, operator, ["Equal", "Exists", "Lt", "Gt"]));
      } else validateInteger(value, path.child("value"), errors);
      return;
    default:
      errors.push(notSupported(at, operator, ["Equal", "Exists"]));
  }
}

function validateInteger(value: string, path: Path, errors: FieldError[]): void {
  if (value === "") errors.push(invalid(path, value, "must be non-empty"));
  else if (!/^(0|-?[1-9][0-9]*)$/.test(value)) {
    errors.push(invalid(path, value, "must be a valid decimal integer in canonical form"));
  }
  const fault = int64Fault(value);
  if (fault !== undefined) errors.push(invalid(path, value, fault));
}
