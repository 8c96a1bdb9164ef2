/** Changing what a running pod may use, without making it anew. */
import type { Container, Pod, ResourceList, ResourceRequirements } from "#api/generated/core.v1.ts";
import type { RuleContext } from "#api/kind.ts";
import { type FieldError, forbidden, invalid } from "#api/validation/field-error.ts";
import { Path } from "#api/validation/path.ts";
import { ownValue } from "#lib/own-value.ts";
import { MIRROR_POD } from "../annotations.ts";
import { validatePodContent } from "../pod-rules.ts";
import { qosClassOf } from "../qos.ts";
import { podRules } from "../rules.ts";
import { podSpecsEqual } from "../spec-equality.ts";
import { validatePodMetaTwice } from "../update.ts";
import { isSidecar, SPEC_PATH } from "./containers.ts";

const RESIZABLE = ["cpu", "memory"];
const ONLY_COMPUTE = "only cpu and memory resources are mutable";

export function validateResize(pod: Pod, old: Pod, context: RuleContext): FieldError[] {
  const refusal = resizeRefusal(old);
  if (refusal !== undefined) return [forbidden(Path.of(""), refusal)];
  const errors = validatePodMetaTwice(pod, old);
  validatePodContent(pod, podRules(context, old, true), errors);

  const before = old.status.qosClass ?? qosClassOf(old.spec);
  if (before !== qosClassOf(pod.spec)) {
    const detail = "Pod QOS Class may not change as a result of resizing";
    errors.push(invalid(SPEC_PATH, pod.status.qosClass ?? "", detail));
  }
  if (!nodeCanResize(old)) {
    errors.push(forbidden(SPEC_PATH, "Pod running on node without support for resize"));
  }
  if (hasPodResources(pod) || hasPodResources(old)) validatePodLevel(pod, old, errors);
  if ((old.status.nodeAllocatableResourceClaimStatuses ?? []).length > 0) {
    const detail = "pods with node allocatable resource claims cannot be resized";
    errors.push(forbidden(SPEC_PATH, detail));
  }
  if (!validateSameContainers(pod, old, errors)) return errors;
  validateContainers(pod, old, errors);
  if (errors.length === 0 && !podSpecsEqual(withOldResources(pod, old), old.spec)) {
    errors.push(forbidden(SPEC_PATH, ONLY_COMPUTE));
  }
  return errors;
}

function resizeRefusal({ metadata, spec }: Pod): string | undefined {
  if (metadata.annotations?.[MIRROR_POD] !== undefined) return "static pods cannot be resized";
  return spec.os?.name === "windows" ? "windows pods cannot be resized" : undefined;
}

/** A kubelet that can resize reports the resources of what runs; if nothing runs, none is known. */
function nodeCanResize({ status }: Pod): boolean {
  const running = (status.containerStatuses ?? []).find(
    ({ state }) => state?.running !== undefined,
  );
  return running === undefined || running.resources !== undefined;
}

function hasPodResources({ spec: { resources } }: Pod): boolean {
  return size(resources?.requests) + size(resources?.limits) > 0;
}

function validatePodLevel({ spec }: Pod, { spec: old }: Pod, errors: FieldError[]): void {
  const at = SPEC_PATH.child("resources");
  if (old.resources !== undefined && spec.resources === undefined) {
    errors.push(forbidden(at, "pod-level resources cannot be removed"));
    return;
  }
  for (const list of ["requests", "limits"] as const) {
    if (old.resources === undefined || !lacksAny(spec.resources?.[list], old.resources[list])) {
      continue;
    }
    errors.push(forbidden(at.child(list), `pod-level resource ${list} cannot be removed`));
  }
  if (!podSpecsEqual(withOldPodResources(spec.resources, old.resources), old.resources)) {
    errors.push(forbidden(SPEC_PATH, `${ONLY_COMPUTE} at pod-level`));
  }
}

function validateSameContainers(pod: Pod, old: Pod, errors: FieldError[]): boolean {
  const count = errors.length;
  for (const field of ["containers", "initContainers"] as const) {
    const containers = pod.spec[field] ?? [];
    const before = old.spec[field] ?? [];
    const at = SPEC_PATH.child(field);
    if (containers.length !== before.length) {
      errors.push(forbidden(at, `${field} may not be added or removed on resize`));
      continue;
    }
    for (const [i, { name }] of before.entries()) {
      if (containers[i]!.name === name) continue;
      const detail = `${field} may not be renamed or reordered on resize`;
      errors.push(forbidden(at.index(i).child("name"), detail));
    }
  }
  return errors.length === count;
}

function validateContainers(pod: Pod, old: Pod, errors: FieldError[]): void {
  for (const field of ["initContainers", "containers"] as const) {
    for (const [i, { resources }] of (old.spec[field] ?? []).entries()) {
      const next = pod.spec[field]![i]!.resources;
      const at = SPEC_PATH.child(field).index(i).child("resources");
      for (const list of ["requests", "limits"] as const) {
        if (!lacksAny(next[list], resources[list])) continue;
        errors.push(forbidden(at.child(list), `resource ${list} cannot be removed`));
      }
    }
  }
  for (const [i, container] of (pod.spec.containers ?? []).entries()) {
    const before = old.spec.containers![i]!;
    if (podSpecsEqual(withOldCompute(container, before), before)) continue;
    errors.push(forbidden(SPEC_PATH, ONLY_COMPUTE));
  }
  for (const [i, container] of (pod.spec.initContainers ?? []).entries()) {
    const before = old.spec.initContainers![i]!;
    validateInitContainer(container, before, SPEC_PATH.child("initContainers").index(i), errors);
  }
}

function validateInitContainer(
  container: Container,
  before: Container,
  path: Path,
  errors: FieldError[],
): void {
  if (!podSpecsEqual(withOldCompute(container, before), before)) {
    const detail = "only cpu and memory resources for init or sidecar containers are mutable";
    errors.push(forbidden(path, detail));
  }
  if (isSidecar(container) || podSpecsEqual(container, before)) return;
  for (const { restartPolicy } of container.resizePolicy ?? []) {
    if (restartPolicy !== "RestartContainer") continue;
    const detail =
      "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
    errors.push(forbidden(path, detail));
  }
}

function withOldResources({ spec }: Pod, { spec: old }: Pod): Pod["spec"] {
  const containers = (spec.containers ?? []).map((c, i) => withOldCompute(c, old.containers![i]!));
  const initContainers = (spec.initContainers ?? []).map((c, i) =>
    withOldCompute(c, old.initContainers![i]!),
  );
  const resources = withOldPodResources(spec.resources, old.resources);
  return { ...spec, containers, initContainers, ...({ resources } as object) };
}

/** The container with the cpu and memory that it had before, and without claims. */
function withOldCompute(container: Container, old: Container): Container {
  return { ...container, resources: withOldAmounts(container.resources, old.resources) };
}

function withOldPodResources(
  next: ResourceRequirements | undefined,
  old: ResourceRequirements | undefined,
): ResourceRequirements | undefined {
  if (next === undefined) return undefined;
  const mixed = withOldAmounts(next, old ?? {});
  const claims = next.claims ?? [];
  const isEmpty = size(mixed.requests) + size(mixed.limits) + claims.length === 0;
  if (old === undefined && isEmpty) return undefined;
  return claims.length === 0 ? mixed : { ...mixed, claims };
}

function withOldAmounts(
  next: ResourceRequirements,
  old: ResourceRequirements,
): ResourceRequirements {
  const mixed: { limits?: ResourceList; requests?: ResourceList } = {};
  for (const list of ["limits", "requests"] as const) {
    const others = Object.entries(next[list] ?? {}).filter(([name]) => !RESIZABLE.includes(name));
    const compute = Object.entries(old[list] ?? {}).filter(([name]) => RESIZABLE.includes(name));
    const amounts = Object.fromEntries([...others, ...compute]);
    if (size(amounts) > 0) mixed[list] = amounts;
  }
  return mixed;
}

function lacksAny(next: ResourceList | undefined, old: ResourceList | undefined): boolean {
  return Object.keys(old ?? {}).some((name) => ownValue(next, name) === undefined);
}

function size(list: ResourceList | undefined): number {
  return Object.keys(list ?? {}).length;
}
