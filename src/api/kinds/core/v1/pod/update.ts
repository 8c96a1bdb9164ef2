/** What may change in a pod once it is there: very little, the rest is decided when it is made. */
import { isEmptyCollection } from "#api/codec/empty-collections.ts";
import type {
  Affinity,
  Container,
  NodeAffinity,
  NodeSelectorTerm,
  Pod,
  PodSpec,
} from "#api/generated/core.v1.ts";
import type { RuleContext } from "#api/kind.ts";
import { type FieldError, forbidden, invalid, required } from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { validateKubeMeta, validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { ID_MAX, isInRange, nameIsDnsSubdomain } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import type { Steps } from "#lib/async/steps.ts";
import { validatePodAnnotationUpdate } from "./annotations.ts";
import { validateTrimmedImage } from "./containers/container.ts";
import { SPEC_PATH } from "./containers/containers.ts";
import { internalDiff } from "./internal-diff.ts";
import { validateTolerationUpdate } from "./placement/tolerations.ts";
import { ANNOTATIONS_PATH, validatePodContent } from "./pod-rules.ts";
import { type PodRules, podRules } from "./rules.ts";
import { podSpecsEqual } from "./spec-equality.ts";
import { isValidated, rememberValidated } from "./validated-content.ts";

const CHANGEABLE = [
  "`spec.containers[*].image`",
  "`spec.initContainers[*].image`",
  "`spec.activeDeadlineSeconds`",
  "`spec.tolerations` (only additions to existing tolerations)",
  "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
].join(",");

/** In steps: pods may have many annotations, which all of them look at. */
export function* validatePodUpdate(
  pod: Pod,
  old: Pod,
  context: RuleContext,
): Steps<readonly FieldError[]> {
  const errors = validateKubeMetaUpdate(pod, old);
  yield;
  errors.push(...validateKubeMeta(pod.metadata, META));
  yield;
  if (isValidated(pod, old, context)) return errors;
  const faults = yield* contentFaults(pod, old, podRules(context, old, true));
  if (faults.length === 0) rememberValidated(pod, old, context);
  return [...errors, ...faults];
}

function* contentFaults(pod: Pod, old: Pod, rules: PodRules): Steps<FieldError[]> {
  const errors: FieldError[] = [];
  validatePodContent(pod, rules, errors);
  yield;
  validatePodAnnotationUpdate(pod, old, rules, ANNOTATIONS_PATH, errors);
  yield;
  for (const field of ["containers", "initContainers"] as const) {
    const at = SPEC_PATH.child(field);
    if (!validateImages(pod.spec[field] ?? [], old.spec[field] ?? [], at, errors)) return errors;
  }
  if (!validateDeadlineUpdate(pod.spec, old.spec, errors)) return errors;
  validateTolerationUpdate(
    pod.spec.tolerations ?? [],
    old.spec.tolerations ?? [],
    rules,
    SPEC_PATH.child("tolerations"),
    errors,
  );
  validateGateUpdate(pod.spec, old.spec, errors);
  if (!podSpecsEqual(pod.spec, old.spec)) validateUnchanged(pod.spec, old.spec, errors);
  return errors;
}

/** Pods check their metadata as changed metadata, and then once more as if it were new. */
export function validatePodMetaTwice(pod: Pod, old: Pod): FieldError[] {
  return [...validateKubeMetaUpdate(pod, old), ...validateKubeMeta(pod.metadata, META)];
}

const META = { namespaced: true, nameRule: nameIsDnsSubdomain };

function validateImages(
  containers: readonly Container[],
  old: readonly Container[],
  path: Path,
  errors: FieldError[],
): boolean {
  if (containers.length !== old.length) {
    errors.push(forbidden(path, "pod updates may not add or remove containers"));
    return false;
  }
  for (const [i, container] of containers.entries()) {
    const at = path.index(i);
    if ((container.image ?? "") === "") errors.push(required(at.child("image"), ""));
    validateTrimmedImage(container, at, errors);
  }
  return true;
}

/** A deadline may be set, and then only come nearer. */
function validateDeadlineUpdate(spec: PodSpec, old: PodSpec, errors: FieldError[]): boolean {
  const at = SPEC_PATH.child("activeDeadlineSeconds");
  const next = spec.activeDeadlineSeconds;
  const before = old.activeDeadlineSeconds;
  if (next === undefined) {
    if (before === undefined) return true;
    errors.push(invalid(at, null, "must not update from a positive integer to nil value"));
    return true;
  }
  const [fault] = isInRange(next, 0, ID_MAX);
  const tooLate = before !== undefined && before < next;
  if (fault !== undefined) errors.push(invalid(at, next, fault));
  else if (tooLate) errors.push(invalid(at, next, "must be less than or equal to previous value"));
  return fault === undefined && !tooLate;
}

function validateGateUpdate(spec: PodSpec, old: PodSpec, errors: FieldError[]): void {
  const before = new Set((old.schedulingGates ?? []).map(({ name }) => name));
  const added = new Map((spec.schedulingGates ?? []).map(({ name }, i) => [name, i]));
  for (const [name, i] of added) {
    if (before.has(name)) continue;
    const at = SPEC_PATH.child("schedulingGates").index(i).child("name");
    const detail = `only deletion is allowed, but found new scheduling gate '${name}'`;
    errors.push(forbidden(at, detail));
  }
}

/** Takes back the changes that are allowed; then nothing may differ any more. */
function validateUnchanged(spec: PodSpec, old: PodSpec, errors: FieldError[]): void {
  let rest: PodSpec = {
    ...spec,
    containers: withImages(spec.containers ?? [], old.containers ?? []),
    ...pick(old, "activeDeadlineSeconds", "schedulingGates", "tolerations"),
  };
  if (spec.initContainers !== undefined) {
    const initContainers = withImages(spec.initContainers, old.initContainers ?? []);
    rest = { ...rest, initContainers };
  }
  if ((old.terminationGracePeriodSeconds ?? 0) < 0 && rest.terminationGracePeriodSeconds === 1) {
    rest = { ...rest, ...pick(old, "terminationGracePeriodSeconds") };
  }
  if ((old.schedulingGates ?? []).length > 0) rest = withOldPlacement(rest, spec, old, errors);
  if (podSpecsEqual(rest, old)) return;
  const diff = internalDiff("core.v1.PodSpec", old, rest);
  const detail = `pod updates may not change fields other than ${CHANGEABLE}\n${diff}`;
  errors.push(forbidden(SPEC_PATH, detail));
}

/** These fields, absent ones as undefined so that they overwrite others. */
function pick<Field extends keyof PodSpec>(
  spec: PodSpec,
  ...fields: readonly Field[]
): Partial<PodSpec> {
  return Object.fromEntries(fields.map((field) => [field, spec[field]]));
}

function withImages(containers: readonly Container[], old: readonly Container[]): Container[] {
  return containers.map((container, i) => ({ ...container, image: old[i]!.image ?? "" }));
}

/** Where a pod may go can still be narrowed while gates hold it back. */
function withOldPlacement(
  spec: PodSpec,
  given: PodSpec,
  old: PodSpec,
  errors: FieldError[],
): PodSpec {
  let rest = spec;
  if (!semanticEqual(spec.nodeSelector, old.nodeSelector)) {
    validateNodeSelectorUpdate(given, old, errors);
    rest = { ...rest, ...pick(old, "nodeSelector") };
  }
  const before = old.affinity?.nodeAffinity;
  const next = spec.affinity?.nodeAffinity;
  if (semanticEqual(next, before)) return rest;
  validateNodeAffinityUpdate(next, before, errors);
  return { ...rest, affinity: withNodeAffinity(spec.affinity, old.affinity) } as PodSpec;
}

function withNodeAffinity(
  next: Affinity | undefined,
  old: Affinity | undefined,
): Affinity | undefined {
  const { nodeAffinity: _, ...others } = next ?? {};
  const before = old?.nodeAffinity;
  if (before !== undefined) return { ...others, nodeAffinity: before };
  const hasOthers = Object.values(others).some((part) => part !== undefined);
  return old === undefined && !hasOthers ? undefined : others;
}

function validateNodeSelectorUpdate(spec: PodSpec, old: PodSpec, errors: FieldError[]): void {
  const next = spec.nodeSelector ?? {};
  const kept = Object.entries(old.nodeSelector ?? {}).every(([key, value]) => next[key] === value);
  if (kept) return;
  const detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
  const shown = spec.nodeSelector ?? (isEmptyCollection(spec, "nodeSelector") ? {} : null);
  errors.push(invalid(SPEC_PATH.child("nodeSelector"), shown, detail));
}

function validateNodeAffinityUpdate(
  next: NodeAffinity | undefined,
  old: NodeAffinity | undefined,
  errors: FieldError[],
): void {
  const field = "requiredDuringSchedulingIgnoredDuringExecution";
  const before = old?.[field]?.nodeSelectorTerms ?? [];
  const terms = next?.[field]?.nodeSelectorTerms ?? [];
  if (before.length === 0) return;
  const at = SPEC_PATH.child("affinity", "nodeAffinity", field, "nodeSelectorTerms");
  if (before.length !== terms.length) {
    const selector = next?.[field];
    const isEmpty = isEmptyCollection(selector, "nodeSelectorTerms");
    const shown = selector?.nodeSelectorTerms ?? (isEmpty ? [] : undefined);
    const detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
    errors.push(invalid(at, internalForm("[]core.v1.NodeSelectorTerm", shown), detail));
    return;
  }
  for (const [i, term] of before.entries()) {
    if (onlyAdds(terms[i]!, term)) continue;
    const shown = internalForm("core.v1.NodeSelectorTerm", terms[i]);
    const detail = "only additions are allowed (no mutations or deletions)";
    errors.push(invalid(at.index(i), shown, detail));
  }
}

/** An empty term selects nothing, so that a requirement added to it would widen the choice. */
function onlyAdds(next: NodeSelectorTerm, old: NodeSelectorTerm): boolean {
  const lists = ["matchExpressions", "matchFields"] as const;
  if (lists.every((list) => (old[list] ?? []).length === 0)) {
    return lists.every((list) => (next[list] ?? []).length === 0);
  }
  return lists.every((list) => {
    const before = old[list] ?? [];
    return semanticEqual((next[list] ?? []).slice(0, before.length), before);
  });
}
