/** The parts of a Job that its CronJob's template has as well. */

import type { JobSpec } from "#api/generated/batch.v1.ts";
import {
  type TemplateRules,
  validatePodTemplateSpec,
} from "#api/kinds/core/v1/workload/pod-template-validation.ts";
import { validateCounts } from "#api/kinds/core/v1/workload/workload.ts";
import { validateDomainPrefixedPath } from "#api/validation/domain-prefixed.ts";
import {
  type FieldError,
  invalid,
  notSupported,
  required,
  tooLong,
} from "#api/validation/field-error.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import type { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import { validateFailurePolicy, validateSuccessPolicy } from "./job-policies.ts";

const COMPLETION_MODES = ["NonIndexed", "Indexed"];
const REPLACEMENT_POLICIES = ["Failed", "TerminatingOrFailed"];
const MANAGED_BY_MAX = 63;
const INDEXED_PARALLELISM_MAX = 100_000;
const FAILED_INDEXES_MAX = 100_000;
/** Beyond so many completions the lists of indexes in the status could grow too long. */
const MANY_COMPLETIONS = 100_000;
const PARALLELISM_MAX_FOR_MANY = 10_000;
const FAILED_INDEXES_MAX_FOR_MANY = 10_000;

export function validateJobParts(spec: JobSpec, rules: TemplateRules, path: Path): FieldError[] {
  const errors = validateCounts(
    spec,
    [
      "parallelism",
      "completions",
      "activeDeadlineSeconds",
      "backoffLimit",
      "ttlSecondsAfterFinished",
      "backoffLimitPerIndex",
      "maxFailedIndexes",
    ],
    path,
  );
  if (spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined) {
    const at = path.child("backoffLimitPerIndex");
    errors.push(required(at, "when maxFailedIndexes is specified"));
  }
  errors.push(...validateManagedBy(spec, path.child("managedBy")));
  errors.push(...validateCompletionMode(spec, path));
  if (spec.podFailurePolicy !== undefined) {
    errors.push(...validateFailurePolicy(spec, path.child("podFailurePolicy")));
  }
  if (spec.successPolicy !== undefined) {
    const at = path.child("successPolicy");
    if (spec.completionMode === "Indexed") errors.push(...validateSuccessPolicy(spec, at));
    else {
      const shown = internalForm("batch.v1.SuccessPolicy", spec.successPolicy);
      errors.push(invalid(at, shown, "requires indexed completion mode"));
    }
  }
  errors.push(...validateReplacement(spec, path.child("podReplacementPolicy")));
  errors.push(...validatePodTemplateSpec(spec.template, rules, path.child("template")));
  errors.push(...validateRestartPolicy(spec, path.child("template", "spec", "restartPolicy")));
  return errors;
}

function validateManagedBy({ managedBy }: JobSpec, path: Path): FieldError[] {
  if (managedBy === undefined) return [];
  const errors = validateDomainPrefixedPath(managedBy, path);
  return utf8Length(managedBy) > MANAGED_BY_MAX
    ? [...errors, tooLong(path, MANAGED_BY_MAX)]
    : errors;
}

function validateCompletionMode(spec: JobSpec, path: Path): FieldError[] {
  const { completionMode = "NonIndexed", backoffLimitPerIndex, maxFailedIndexes } = spec;
  if (completionMode === "Indexed") return validateIndexed(spec, path);
  if (completionMode !== "NonIndexed") {
    return [notSupported(path.child("completionMode"), completionMode, COMPLETION_MODES)];
  }
  return Object.entries({ backoffLimitPerIndex, maxFailedIndexes })
    .filter(([, value]) => value !== undefined)
    .map(([field, value]) => invalid(path.child(field), value, "requires indexed completion mode"));
}

function validateIndexed(spec: JobSpec, path: Path): FieldError[] {
  const { completions, parallelism = 0, maxFailedIndexes, backoffLimitPerIndex } = spec;
  const errors: FieldError[] = [];
  const parallelismPath = path.child("parallelism");
  const failedPath = path.child("maxFailedIndexes");
  if (completions === undefined) {
    errors.push(required(path.child("completions"), "when completion mode is Indexed"));
  }
  if (parallelism > INDEXED_PARALLELISM_MAX) {
    const detail = `must be less than or equal to ${INDEXED_PARALLELISM_MAX} when completion mode is Indexed`;
    errors.push(invalid(parallelismPath, parallelism, detail));
  }
  if (completions !== undefined && (maxFailedIndexes ?? 0) > completions) {
    const detail = "must be less than or equal to completions";
    errors.push(invalid(failedPath, maxFailedIndexes, detail));
  }
  if ((maxFailedIndexes ?? 0) > FAILED_INDEXES_MAX) {
    const detail = `must be less than or equal to ${FAILED_INDEXES_MAX}`;
    errors.push(invalid(failedPath, maxFailedIndexes, detail));
  }
  if ((completions ?? 0) <= MANY_COMPLETIONS || backoffLimitPerIndex === undefined) return errors;

  const reason = `when completions are above ${MANY_COMPLETIONS} and used with backoff limit per index`;
  if (maxFailedIndexes === undefined) {
    const detail = `must be specified when completions is above ${MANY_COMPLETIONS}`;
    errors.push(required(failedPath, detail));
  }
  if (parallelism > PARALLELISM_MAX_FOR_MANY) {
    const detail = `must be less than or equal to ${PARALLELISM_MAX_FOR_MANY} ${reason}`;
    errors.push(invalid(parallelismPath, parallelism, detail));
  }
  if ((maxFailedIndexes ?? 0) > FAILED_INDEXES_MAX_FOR_MANY) {
    const detail = `must be less than or equal to ${FAILED_INDEXES_MAX_FOR_MANY} ${reason}`;
    errors.push(invalid(failedPath, maxFailedIndexes, detail));
  }
  return errors;
}

function validateReplacement(
  { podReplacementPolicy, podFailurePolicy }: JobSpec,
  path: Path,
): FieldError[] {
  if (podReplacementPolicy === undefined) return [];
  const supported = podFailurePolicy === undefined ? REPLACEMENT_POLICIES : ["Failed"];
  if (supported.includes(podReplacementPolicy)) return [];
  return [notSupported(path, podReplacementPolicy, supported)];
}

/** Pods of a Job end; "Always" is also what an absent policy has become by now. */
function validateRestartPolicy({ template, podFailurePolicy }: JobSpec, path: Path): FieldError[] {
  const { restartPolicy = "" } = template.spec;
  if (restartPolicy === "" || restartPolicy === "Always") {
    return [required(path, 'valid values: "OnFailure", "Never"')];
  }
  if (restartPolicy !== "OnFailure" && restartPolicy !== "Never") {
    return [notSupported(path, restartPolicy, ["OnFailure", "Never"])];
  }
  if (podFailurePolicy === undefined || restartPolicy === "Never") return [];
  const detail = 'only "Never" is supported when podFailurePolicy is specified';
  return [invalid(path, restartPolicy, detail)];
}
