/** The selector and template of ReplicaSets, and of Deployments, which make them. */

import type { PodTemplateSpec } from "#api/generated/core.v1.ts";
import type { LabelSelector } from "#api/generated/meta.v1.ts";
import {
  type TemplateRules,
  validatePodTemplateSpec,
} from "#api/kinds/core/v1/workload/pod-template-validation.ts";
import {
  validateOwnSelector,
  validateRunsForever,
  validateSelectsTemplate,
} from "#api/kinds/core/v1/workload/workload.ts";
import type { FieldError } from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";

interface Selecting {
  readonly selector?: LabelSelector | null;
  readonly template: PodTemplateSpec;
}

export function validateReplicaTemplate(
  { selector, template }: Selecting,
  rules: TemplateRules,
  path: Path,
): FieldError[] {
  const errors: FieldError[] = [];
  const texts = {
    empty: "empty selector is invalid for deployment",
    broken: "invalid label selector",
  };
  const selected = validateOwnSelector(
    selector ?? undefined,
    texts,
    path.child("selector"),
    errors,
  );
  if (selected === undefined) return errors;
  const at = path.child("template");
  errors.push(...validateSelectsTemplate(selected, template, at));
  errors.push(...validatePodTemplateSpec(template, rules, at));
  errors.push(...validateRunsForever(template, "ReplicaSet", at));
  return errors;
}
