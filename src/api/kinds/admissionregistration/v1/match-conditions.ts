/** Conditions in CEL under which a webhook or policy is asked at all. */
import type { ExpressionCompiler } from "#api/expressions.ts";
import { expressionError } from "#api/expressions.ts";
import type { MatchCondition } from "#api/generated/admissionregistration.v1.ts";
import { invalidEach } from "#api/validation/faults.ts";
import { duplicate, type FieldError, required, tooMany } from "#api/validation/field-error.ts";
import { isQualifiedName } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";

const CONDITIONS_MAX = 64;

export interface MatchConditionOptions {
  readonly compiler: ExpressionCompiler | undefined;
  readonly hasParams: boolean;
  /** Expressions of the stored object. */
  readonly stored: ReadonlySet<string>;
}

export function validateMatchConditions(
  conditions: readonly MatchCondition[],
  options: MatchConditionOptions,
  path: Path,
): FieldError[] {
  const errors: FieldError[] = [];
  if (conditions.length > CONDITIONS_MAX) {
    errors.push(tooMany(path, conditions.length, CONDITIONS_MAX));
  }
  const seen = new Set<string>();
  for (const [i, condition] of conditions.entries()) {
    const at = path.index(i);
    errors.push(...validateCondition(condition, options, at));
    if (condition.name !== "" && seen.has(condition.name)) {
      errors.push(duplicate(at.child("name"), condition.name));
    }
    seen.add(condition.name);
  }
  return errors;
}

function validateCondition(
  { name, expression }: MatchCondition,
  { compiler, hasParams, stored }: MatchConditionOptions,
  path: Path,
): FieldError[] {
  const errors: FieldError[] = [];
  const trimmed = expression.trim();
  const at = path.child("expression");
  if (trimmed === "") errors.push(required(at, ""));
  else {
    const fault = compiler?.admission(trimmed, {
      role: "matchCondition",
      hasParams,
      hasAuthorizer: true,
      variables: [],
      stored: stored.has(trimmed),
    });
    errors.push(...expressionError(at, trimmed, fault));
  }
  if (name === "") errors.push(required(path.child("name"), ""));
  else errors.push(...invalidEach(path.child("name"), name, isQualifiedName(name)));
  return errors;
}
