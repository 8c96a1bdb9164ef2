/** The node affinity that the configuration adds to every pod: upstream's checks and texts. */
import { type FieldError, invalid, notSupported } from "#api/validation/field-error.ts";
import { isLabelValue, isQualifiedName } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import { type Json, listOf, objectOf } from "./json-values.ts";

const OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
const FIELD_OPERATORS = ["In", "NotIn"];

/** The arguments of NodeAffinity. */
export function checkAddedAffinity(args: Json, path: Path): readonly FieldError[] {
  const affinity = objectOf(args.addedAffinity);
  const at = path.child("addedAffinity");
  const requiredAt = at.child("requiredDuringSchedulingIgnoredDuringExecution");
  const preferredAt = at.child("preferredDuringSchedulingIgnoredDuringExecution");
  const { nodeSelectorTerms } = objectOf(affinity.requiredDuringSchedulingIgnoredDuringExecution);
  const terms = listOf(nodeSelectorTerms).map(objectOf);
  const preferred = listOf(affinity.preferredDuringSchedulingIgnoredDuringExecution).map(objectOf);
  return [
    ...terms.flatMap((term, i) => checkTerm(term, requiredAt.child("nodeSelectorTerms").index(i))),
    ...preferred.flatMap(({ weight, preference }, i) =>
      (weight ?? 0) === 0 ? [] : checkTerm(objectOf(preference), preferredAt.index(i)),
    ),
  ];
}

function checkTerm({ matchExpressions, matchFields }: Json, path: Path): readonly FieldError[] {
  return [
    ...listOf(matchExpressions).flatMap((one, index) =>
      checkExpression(objectOf(one), path.child("matchExpressions").index(index)),
    ),
    ...listOf(matchFields).flatMap((one, index) =>
      checkField(objectOf(one), path.child("matchFields").index(index)),
    ),
  ];
}

function checkExpression({ key, operator, values }: Json, path: Path): readonly FieldError[] {
  const kind = textOf(operator);
  if (!OPERATORS.includes(kind)) return [notSupported(path.child("operator"), kind, OPERATORS)];
  const list = listOf(values).map(textOf);
  const at = path.child("values");
  const name = textOf(key);
  const errors = joined(path.child("key"), name, isQualifiedName(name));
  if ((kind === "In" || kind === "NotIn") && list.length === 0) {
    errors.push(invalid(at, list, "for 'in', 'notin' operators, values set can't be empty"));
  }
  if ((kind === "Exists" || kind === "DoesNotExist") && list.length > 0) {
    errors.push(invalid(at, list, "values set must be empty for exists and does not exist"));
  }
  if (kind === "Gt" || kind === "Lt") {
    if (list.length !== 1) {
      errors.push(invalid(at, list, "for 'Gt', 'Lt' operators, exactly one value is required"));
    }
    for (const [index, value] of list.entries()) {
      if (/^[+-]?\d+$/.test(value)) continue;
      const text = "for 'Gt', 'Lt' operators, the value must be an integer";
      errors.push(invalid(at.index(index), value, text));
    }
  }
  return [
    ...errors,
    ...list.flatMap((value, i) => joined(at.index(i).key(name), value, isLabelValue(value))),
  ];
}

function joined(path: Path, value: string, faults: readonly string[]): FieldError[] {
  return faults.length === 0 ? [] : [invalid(path, value, faults.join("; "))];
}

function checkField({ operator, values }: Json, path: Path): readonly FieldError[] {
  const kind = textOf(operator);
  if (!FIELD_OPERATORS.includes(kind)) {
    return [notSupported(path.child("operator"), kind, FIELD_OPERATORS)];
  }
  const list = listOf(values);
  return list.length === 1 ? [] : [invalid(path.child("values"), list, "must have one element")];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
