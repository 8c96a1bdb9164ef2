/** A pod as a whole, when it is made; templates are checked in pod-template-validation.ts. */
import type { Pod } from "#api/generated/core.v1.ts";
import type { RuleContext } from "#api/kind.ts";
import { type FieldError, forbidden } from "#api/validation/field-error.ts";
import { validateFinalizers } from "#api/validation/kube-meta.ts";
import { Path } from "#api/validation/path.ts";
import { validatePodAnnotations } from "./annotations.ts";
import { validateTrimmedImage } from "./containers/container.ts";
import { SPEC_PATH } from "./containers/containers.ts";
import { type PodRules, podRules } from "./rules.ts";
import { validateProfilesMatchAnnotations } from "./security/profiles.ts";
import { validatePodSpec } from "./spec.ts";

export const ANNOTATIONS_PATH = Path.of("metadata", "annotations");

export function validatePodCreate(pod: Pod, context: RuleContext): FieldError[] {
  const errors = validateFinalizers(pod.metadata);
  validatePodContent(pod, podRules(context, undefined, true), errors);
  const { ephemeralContainers = [], schedulingGates = [], nodeName = "" } = pod.spec;
  if (ephemeralContainers.length > 0) {
    errors.push(forbidden(SPEC_PATH.child("ephemeralContainers"), "cannot be set on create"));
  }
  if (nodeName !== "" && schedulingGates.length > 0) {
    const detail = "cannot be set until all schedulingGates have been cleared";
    errors.push(forbidden(SPEC_PATH.child("nodeName"), detail));
  }
  validateProfilesMatchAnnotations(pod.metadata, pod.spec, SPEC_PATH, errors);
  return errors;
}

/** What holds for a pod at any time. */
export function validatePodContent(pod: Pod, rules: PodRules, errors: FieldError[]): void {
  const { metadata, spec } = pod;
  validatePodAnnotations(metadata.annotations, spec, rules, ANNOTATIONS_PATH, errors);
  validatePodSpec(spec, metadata, rules, SPEC_PATH, errors);
  if ((spec.serviceAccountName ?? "") === "") forbidTokens(pod, errors);
  for (const field of ["containers", "initContainers"] as const) {
    for (const [i, container] of (spec[field] ?? []).entries()) {
      validateTrimmedImage(container, SPEC_PATH.child(field).index(i), errors);
    }
  }
}

function forbidTokens({ spec: { volumes = [] } }: Pod, errors: FieldError[]): void {
  for (const [i, { projected }] of volumes.entries()) {
    for (const [j, source] of (projected?.sources ?? []).entries()) {
      if (source.serviceAccountToken === undefined) continue;
      const at = SPEC_PATH.child("volumes").index(i).child("projected", "sources").index(j);
      const detail = "must not be specified when serviceAccountName is not set";
      errors.push(forbidden(at.child("serviceAccountToken"), detail));
    }
  }
}
