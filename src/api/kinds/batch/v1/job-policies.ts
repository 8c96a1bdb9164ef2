/** When the end of a pod is a failure of its Job, and when a Job has succeeded. */

import type {
  JobSpec,
  PodFailurePolicyOnExitCodesRequirement,
  PodFailurePolicyOnPodConditionsPattern,
  PodFailurePolicyRule,
  SuccessPolicyRule,
} from "#api/generated/batch.v1.ts";
import { validateCounts } from "#api/kinds/core/v1/workload/workload.ts";
import {
  duplicate,
  type FieldError,
  invalid,
  notSupported,
  OMITTED,
  required,
  tooLong,
  tooMany,
} from "#api/validation/field-error.ts";
import { isQualifiedName } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import { parseIndexes } from "./indexes.ts";

const RULES_MAX = 20;
const EXIT_CODES_MAX = 255;
const PATTERNS_MAX = 20;
const INDEXES_TEXT_MAX = 64 * 1024;
const ACTIONS = ["Count", "FailIndex", "FailJob", "Ignore"];
const OPERATORS = ["In", "NotIn"];
const STATUSES = ["False", "True", "Unknown"];

export function validateFailurePolicy(spec: JobSpec, path: Path): FieldError[] {
  const rules = spec.podFailurePolicy?.rules ?? [];
  const at = path.child("rules");
  const { containers, initContainers = [] } = spec.template.spec;
  const names = new Set([...(containers ?? []), ...initContainers].map(({ name }) => name));
  const errors = rules.length > RULES_MAX ? [tooMany(at, rules.length, RULES_MAX)] : [];
  for (const [i, rule] of rules.entries()) {
    errors.push(...validateFailureRule(rule, spec, names, at.index(i)));
  }
  return errors;
}

export function validateSuccessPolicy(spec: JobSpec, path: Path): FieldError[] {
  const rules = spec.successPolicy?.rules ?? [];
  const at = path.child("rules");
  const errors: FieldError[] = [];
  if (rules.length === 0) {
    const detail = "at least one rules must be specified when the successPolicy is specified";
    errors.push(required(at, detail));
  }
  if (rules.length > RULES_MAX) errors.push(tooMany(at, rules.length, RULES_MAX));
  for (const [i, rule] of rules.entries()) {
    errors.push(...validateSuccessRule(rule, spec.completions ?? 0, at.index(i)));
  }
  return errors;
}

function validateFailureRule(
  rule: PodFailurePolicyRule,
  { backoffLimitPerIndex }: JobSpec,
  containerNames: ReadonlySet<string>,
  path: Path,
): FieldError[] {
  const { action, onExitCodes, onPodConditions } = rule;
  const patterns = onPodConditions ?? [];
  const errors: FieldError[] = [];
  const at = path.child("action");
  if (action === "") errors.push(required(at, `valid values: ${listed(ACTIONS)}`));
  else if (!ACTIONS.includes(action)) errors.push(notSupported(at, action, ACTIONS));
  else if (action === "FailIndex" && backoffLimitPerIndex === undefined) {
    errors.push(invalid(at, action, "requires the backoffLimitPerIndex to be set"));
  }
  if (onExitCodes !== undefined) {
    errors.push(...validateExitCodes(onExitCodes, containerNames, path.child("onExitCodes")));
  }
  errors.push(...validatePatterns(patterns, path.child("onPodConditions")));
  if (onExitCodes !== undefined && patterns.length > 0) {
    const detail = "specifying both OnExitCodes and OnPodConditions is not supported";
    errors.push(invalid(path, OMITTED, detail));
  }
  if (onExitCodes === undefined && patterns.length === 0) {
    const detail = "specifying one of OnExitCodes and OnPodConditions is required";
    errors.push(invalid(path, OMITTED, detail));
  }
  return errors;
}

function validatePatterns(
  patterns: readonly PodFailurePolicyOnPodConditionsPattern[],
  path: Path,
): FieldError[] {
  const count = patterns.length;
  const errors = count > PATTERNS_MAX ? [tooMany(path, count, PATTERNS_MAX)] : [];
  for (const [i, { type, status }] of patterns.entries()) {
    const at = path.index(i);
    for (const fault of isQualifiedName(type)) errors.push(invalid(at.child("type"), type, fault));
    if (status === "") {
      errors.push(required(at.child("status"), `valid values: ${listed(STATUSES)}`));
    } else if (!STATUSES.includes(status)) {
      errors.push(notSupported(at.child("status"), status, STATUSES));
    }
  }
  return errors;
}

function validateExitCodes(
  { operator, containerName, values }: PodFailurePolicyOnExitCodesRequirement,
  containerNames: ReadonlySet<string>,
  path: Path,
): FieldError[] {
  const errors: FieldError[] = [];
  const at = path.child("operator");
  if (operator === "") errors.push(required(at, `valid values: ${listed(OPERATORS)}`));
  else if (!OPERATORS.includes(operator)) errors.push(notSupported(at, operator, OPERATORS));
  if (containerName !== undefined && !containerNames.has(containerName)) {
    const detail = "must be one of the container or initContainer names in the pod template";
    errors.push(invalid(path.child("containerName"), containerName, detail));
  }
  const codes = values ?? [];
  const valuesPath = path.child("values");
  if (codes.length === 0) {
    errors.push(invalid(valuesPath, values, "at least one value is required"));
  } else if (codes.length > EXIT_CODES_MAX) {
    errors.push(tooMany(valuesPath, codes.length, EXIT_CODES_MAX));
  }
  const seen = new Set<number>();
  for (const [i, code] of codes.entries()) {
    if (operator === "In" && code === 0) {
      errors.push(invalid(valuesPath.index(i), code, "must not be 0 for the In operator"));
    }
    if (seen.has(code)) errors.push(duplicate(valuesPath.index(i), code));
    seen.add(code);
  }
  if (codes.some((code, i) => i > 0 && codes[i - 1]! > code)) {
    errors.push(invalid(valuesPath, codes, "must be ordered"));
  }
  return errors;
}

function validateSuccessRule(
  { succeededCount, succeededIndexes }: SuccessPolicyRule,
  completions: number,
  path: Path,
): FieldError[] {
  const errors: FieldError[] = [];
  if (succeededCount === undefined && succeededIndexes === undefined) {
    const detail = "at least one of succeededCount or succeededIndexes must be specified";
    errors.push(required(path, detail));
  }
  let indexCount = 0;
  if (succeededIndexes !== undefined) {
    const at = path.child("succeededIndexes");
    if (utf8Length(succeededIndexes) > INDEXES_TEXT_MAX) {
      errors.push(tooLong(at, INDEXES_TEXT_MAX));
    }
    const parsed = parseIndexes(succeededIndexes, completions);
    if (parsed.ok) indexCount = parsed.count;
    else {
      const detail = `error parsing succeededIndexes: ${parsed.error}`;
      errors.push(invalid(at, succeededIndexes, detail));
    }
  }
  if (succeededCount === undefined) return errors;
  const at = path.child("succeededCount");
  errors.push(...validateCounts({ succeededCount }, ["succeededCount"], path));
  if (succeededCount > completions) {
    const detail = `must be less than or equal to ${completions} (the number of specified completions)`;
    errors.push(invalid(at, succeededCount, detail));
  }
  if (succeededIndexes !== undefined && succeededCount > indexCount) {
    const detail = `must be less than or equal to ${indexCount} (the number of indexes in the specified succeededIndexes field)`;
    errors.push(invalid(at, succeededCount, detail));
  }
  return errors;
}

/** A list as this message shows it: `["In" "NotIn"]`. */
function listed(values: readonly string[]): string {
  return `[${values.map((value) => `"${value}"`).join(" ")}]`;
}
