/** Pod templates: what controllers make pods from. */
import type { PodTemplateSpec } from "#api/generated/core.v1.ts";
import type { RuleContext } from "#api/kind.ts";
import { type FieldError, forbidden } from "#api/validation/field-error.ts";
import { validateAnnotations, validateLabels } from "#api/validation/labels.ts";
import type { Path } from "#api/validation/path.ts";
import { validatePodAnnotations } from "../pod/annotations.ts";
import { type PodRules, podRules } from "../pod/rules.ts";
import { validateProfilesMatchAnnotations } from "../pod/security/profiles.ts";
import { validatePodSpec } from "../pod/spec.ts";

export type TemplateRules = PodRules;

/** `old`: the template that is there before an update. */
export function templateRules(context: RuleContext, old?: PodTemplateSpec): TemplateRules {
  return podRules(context, old);
}

export function validatePodTemplateSpec(
  template: PodTemplateSpec,
  rules: TemplateRules,
  path: Path,
): FieldError[] {
  const errors = validateTemplateMeta(template, rules, path);
  const specPath = path.child("spec");
  validatePodSpec(template.spec, undefined, rules, specPath, errors);
  validateProfilesMatchAnnotations(template.metadata ?? {}, template.spec, specPath, errors);
  if ((template.spec.ephemeralContainers ?? []).length > 0) {
    const at = specPath.child("ephemeralContainers");
    errors.push(forbidden(at, "ephemeral containers not allowed in pod template"));
  }
  return errors;
}

export function validateTemplateMeta(
  { metadata, spec }: PodTemplateSpec,
  rules: TemplateRules,
  path: Path,
): FieldError[] {
  const errors = validateLabels(metadata?.labels, path.child("labels"));
  const at = path.child("annotations");
  errors.push(...validateAnnotations(metadata?.annotations, at));
  validatePodAnnotations(metadata?.annotations, spec, rules, at, errors);
  return errors;
}
