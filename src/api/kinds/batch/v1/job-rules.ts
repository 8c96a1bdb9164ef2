/** A Job as a whole, when it is made and when it is changed. */

import type { Job, JobSpec } from "#api/generated/batch.v1.ts";
import type { Affinity, Container, PodSpec, PodTemplateSpec } from "#api/generated/core.v1.ts";
import type { RuleContext } from "#api/kind.ts";
import { podSpecsEqual } from "#api/kinds/core/v1/pod/spec-equality.ts";
import {
  type TemplateRules,
  templateRules,
} from "#api/kinds/core/v1/workload/pod-template-validation.ts";
import { validateSelectsTemplate } from "#api/kinds/core/v1/workload/workload.ts";
import { matchesLabels, selectorOf } from "#api/meta/label-selector.ts";
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import {
  validateFinalizers,
  validateKubeMeta,
  validateKubeMetaUpdate,
} from "#api/validation/kube-meta.ts";
import { selectorHasInvalidLabelValue, validateLabelSelector } from "#api/validation/labels.ts";
import { isDns1123Label, nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { validateJobParts } from "./job-spec.ts";
import { conditionIsTrue } from "./job-status.ts";

const SPEC = Path.of("spec");
const TEMPLATE_META = SPEC.child("template", "metadata");
const UID_LABEL = "batch.kubernetes.io/controller-uid";
const NAME_LABEL = "batch.kubernetes.io/job-name";
const OLD_UID_LABEL = "controller-uid";
const OLD_NAME_LABEL = "job-name";

export function validateJobCreate(job: Job, context: RuleContext): FieldError[] {
  return [...validateFinalizers(job.metadata), ...validateJob(job, templateRules(context), true)];
}

/** Everything that holds for a new Job, and then, with the same faults again, for a changed one. */
export function validateJobUpdate(job: Job, old: Job, context: RuleContext): FieldError[] {
  const base = templateRules(context, old.spec.template);
  const rules = {
    ...base,
    allowInvalidLabelValueInSelector:
      base.allowInvalidLabelValueInSelector || selectorHasInvalidLabelValue(old.spec.selector),
  };
  const oldLabels = old.spec.template.metadata.labels ?? {};
  const hadLabels = Object.hasOwn(oldLabels, NAME_LABEL) && Object.hasOwn(oldLabels, UID_LABEL);
  return [
    ...validateKubeMeta(job.metadata, { namespaced: true, nameRule: nameIsDnsSubdomain }),
    ...validateJob(job, rules, hadLabels),
    ...validateKubeMetaUpdate(job, old),
    ...validateSpec(job.spec, rules),
    ...validateSpecUpdate(job.spec, old),
  ];
}

function validateJob(job: Job, rules: TemplateRules, requireLabels: boolean): FieldError[] {
  const { metadata, spec } = job;
  const errors = [...validateGeneratedSelector(job, requireLabels), ...validateSpec(spec, rules)];
  if (spec.completionMode === "Indexed" && (spec.completions ?? 0) > 0) {
    const { name = "" } = metadata;
    const hostname = `${name}-${spec.completions! - 1}`;
    if (isDns1123Label(hostname).length > 0) {
      const detail = `will not able to create pod with invalid DNS label: ${hostname}`;
      errors.push(invalid(Path.of("metadata", "name"), name, detail));
    }
  }
  return errors;
}

/** The selector and the labels that the server made must be there as it made them. */
function validateGeneratedSelector(job: Job, requireLabels: boolean): FieldError[] {
  const { metadata, spec } = job;
  const { uid = "", name = "" } = metadata;
  if (spec.manualSelector || spec.selector === undefined) return [];
  const errors: FieldError[] = [];
  if (uid === "") errors.push(required(Path.of("metadata", "uid"), ""));
  const expected: Record<string, string> = { [OLD_UID_LABEL]: uid, [OLD_NAME_LABEL]: name };
  if (requireLabels) Object.assign(expected, { [UID_LABEL]: uid, [NAME_LABEL]: name });
  for (const [key, value] of Object.entries(expected)) {
    errors.push(...validateHasLabel(spec.template, key, value));
  }
  const selector = selectorOf(spec.selector);
  if (selector.ok && !matchesLabels(selector.value, expected)) {
    const detail = "`selector` not auto-generated";
    errors.push(invalid(SPEC.child("selector"), spec.selector, detail));
  }
  return errors;
}

function validateHasLabel({ metadata }: PodTemplateSpec, key: string, value: string): FieldError[] {
  const found = metadata.labels?.[key];
  if (found === value) return [];
  const at = TEMPLATE_META.child("labels").key(key);
  const detail = `must be '${value}'`;
  return [found === undefined ? required(at, detail) : invalid(at, metadata.labels, detail)];
}

function validateSpec(spec: JobSpec, rules: TemplateRules): FieldError[] {
  const errors = validateJobParts(spec, rules, SPEC);
  const at = SPEC.child("selector");
  if (spec.selector === undefined) errors.push(required(at, ""));
  const options = { allowInvalidLabelValue: rules.allowInvalidLabelValueInSelector };
  errors.push(...validateLabelSelector(spec.selector, options, at));
  const selector = selectorOf(spec.selector);
  if (selector.ok) {
    errors.push(...validateSelectsTemplate(selector.value, spec.template, SPEC.child("template")));
  }
  return errors;
}

function validateSpecUpdate(spec: JobSpec, job: Job): FieldError[] {
  const old = job.spec;
  return [
    ...validateCompletions(spec, old),
    ...unchanged(spec.selector, old.selector, "selector"),
    ...validateTemplateUpdate(spec, job),
    ...unchanged(spec.completionMode, old.completionMode, "completionMode"),
    ...unchanged(
      spec.podFailurePolicy,
      old.podFailurePolicy,
      "podFailurePolicy",
      "batch.v1.PodFailurePolicy",
    ),
    ...unchanged(spec.backoffLimitPerIndex, old.backoffLimitPerIndex, "backoffLimitPerIndex"),
    ...unchanged(spec.managedBy, old.managedBy, "managedBy"),
    ...unchanged(spec.successPolicy, old.successPolicy, "successPolicy", "batch.v1.SuccessPolicy"),
  ];
}

function unchanged(next: unknown, old: unknown, field: string, type?: string): FieldError[] {
  if (semanticEqual(next, old)) return [];
  const shown = type === undefined || next === undefined ? next : internalForm(type, next);
  return [invalid(SPEC.child(field), shown ?? null, "field is immutable")];
}

/** Indexed Jobs can grow and shrink, if what runs at once does too. */
function validateCompletions(spec: JobSpec, old: JobSpec): FieldError[] {
  if (spec.completionMode !== "Indexed") {
    return unchanged(spec.completions, old.completions, "completions");
  }
  const { completions, parallelism } = spec;
  if (completions === undefined || completions === old.completions) return [];
  if (completions === parallelism) return [];
  const detail = "can only be modified in tandem with spec.parallelism";
  return [invalid(SPEC.child("completions"), completions, detail)];
}

/** While a Job is suspended and none of its pods is left, where and how they run may change. */
function validateTemplateUpdate({ template }: JobSpec, old: Job): FieldError[] {
  const suspended = old.spec.suspend === true;
  const isIdle = suspended && wasSuspended(old) && (old.status.active ?? 0) === 0;
  const before = isIdle ? withPlacement(old.spec.template, template) : old.spec.template;
  if (!isIdle) {
    if (podSpecsEqual(template, before)) return [];
    const shown = internalForm("core.v1.PodTemplateSpec", template);
    return [invalid(SPEC.child("template"), shown, "field is immutable")];
  }
  if (podSpecsEqual(template.spec, withResources(before.spec, template.spec))) return [];
  const shown = internalForm("core.v1.PodSpec", template.spec);
  return [invalid(SPEC.child("template.spec"), shown, "field is immutable")];
}

function wasSuspended({ status }: Job): boolean {
  return status.startTime === undefined || conditionIsTrue(status.conditions, "Suspended");
}

/** The old template with everything of the new one that says where its pods may run. */
function withPlacement(old: PodTemplateSpec, next: PodTemplateSpec): PodTemplateSpec {
  const { annotations, labels } = next.metadata;
  const { nodeSelector, tolerations, schedulingGates } = next.spec;
  const affinity = withNodeAffinity(old.spec.affinity, next.spec.affinity);
  const spec = { ...old.spec, nodeSelector, tolerations, schedulingGates, affinity };
  const metadata = { ...old.metadata, annotations, labels };
  return { metadata, spec } as PodTemplateSpec;
}

function withNodeAffinity(
  old: Affinity | undefined,
  next: Affinity | undefined,
): Affinity | undefined {
  const { nodeAffinity: _, ...others } = old ?? {};
  if (next !== undefined) return { ...others, ...pickNodeAffinity(next) };
  return Object.keys(others).length === 0 ? undefined : others;
}

function pickNodeAffinity({ nodeAffinity }: Affinity): Affinity {
  return nodeAffinity === undefined ? {} : { nodeAffinity };
}

function withResources(old: PodSpec, next: PodSpec): PodSpec {
  const mixed = (before: readonly Container[], after: readonly Container[]) =>
    before.length !== after.length
      ? before
      : before.map((container, i) =>
          container.name === after[i]!.name
            ? { ...container, resources: after[i]!.resources }
            : container,
        );
  const { initContainers } = old;
  return {
    ...old,
    containers: mixed(old.containers ?? [], next.containers ?? []),
    ...(initContainers && { initContainers: mixed(initContainers, next.initContainers ?? []) }),
  };
}
