/** Rules of taints. */
import type { Taint } from "#api/generated/core.v1.ts";
import {
  duplicate,
  type FieldError,
  invalid,
  notSupported,
  required,
} from "#api/validation/field-error.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { validateLabelName } from "#api/validation/labels.ts";
import { isLabelValue } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";

export const TAINT_EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export function validateTaints(taints: readonly Taint[], path: Path): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [i, taint] of taints.entries()) {
    const { key, value = "", effect } = taint;
    const at = path.index(i);
    errors.push(...validateLabelName(key, at.child("key")));
    const faults = isLabelValue(value);
    if (faults.length > 0) errors.push(invalid(at.child("value"), value, faults.join(";")));
    errors.push(...validateTaintEffect(effect, at.child("effect")));
    const identity = `${effect}/${key}`;
    if (seen.has(identity)) {
      errors.push({
        ...duplicate(at, internalForm("core.v1.Taint", taint)),
        detail: "taints must be unique by key and effect pair",
      });
    }
    seen.add(identity);
  }
  return errors;
}

function validateTaintEffect(effect: string, path: Path): FieldError[] {
  if (effect === "") return [required(path, "")];
  return TAINT_EFFECTS.includes(effect) ? [] : [notSupported(path, effect, TAINT_EFFECTS)];
}
