/** What kubelets and the scheduler may report about a pod. */
import type { Pod, PodSpec, PodStatus } from "#api/generated/core.v1.ts";
import type { RuleContext } from "#api/kind.ts";
import {
  duplicate,
  type FieldError,
  forbidden,
  internalError,
  invalid,
  required,
} from "#api/validation/field-error.ts";
import { validateImmutableField } from "#api/validation/immutable.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { ipWarnings, isIp, parseIp } from "#api/validation/ip.ts";
import { validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { isDns1123Label, isQualifiedName, nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { ownValue } from "#lib/own-value.ts";
import { validatePodAnnotationUpdate } from "./annotations.ts";
import {
  validateContainerStatuses,
  validateContainerTransitions,
} from "./containers/container-statuses.ts";
import { ANNOTATIONS_PATH } from "./pod-rules.ts";
import { podRules } from "./rules.ts";

const STATUS = Path.of("status");
const SYSTEM_CONDITIONS = ["PodScheduled", "Ready", "Initialized"];

export function validatePodStatusUpdate(pod: Pod, old: Pod, context: RuleContext): FieldError[] {
  const { status } = pod;
  const before = old.status;
  const errors = validateKubeMetaUpdate(pod, old);
  const rules = podRules(context, old, true);
  validatePodAnnotationUpdate(pod, old, rules, ANNOTATIONS_PATH, errors);
  validateConditions(status, errors);
  validateNomination(status, old, errors);
  if ((status.observedGeneration ?? 0) < 0) {
    const at = STATUS.child("observedGeneration");
    errors.push(invalid(at, status.observedGeneration, "must be a non-negative integer"));
  }
  const qosPath = STATUS.child("qosClass");
  errors.push(...validateImmutableField(status.qosClass ?? "", before.qosClass ?? "", qosPath));
  validateContainerTransitions(status, before, old.spec, STATUS, errors);
  validateClaimStatuses(status, pod.spec, errors);
  validateExtendedClaim(status, pod.spec, errors);
  validatePodIps(status, before, errors);
  validateHostIps(status, before, errors);
  validateContainerStatuses(status, pod.spec, STATUS, errors);
  return errors;
}

/** Addresses that older software wrote in odd ways. */
export function podStatusWarnings({ status }: Pod): string[] {
  return (["podIPs", "hostIPs"] as const).flatMap((field) =>
    (status[field] ?? []).flatMap(({ ip }, i) =>
      ipWarnings(STATUS.child(field).index(i).child("ip"), ip),
    ),
  );
}

function validateConditions({ conditions = [] }: PodStatus, errors: FieldError[]): void {
  for (const [i, { type, observedGeneration = 0 }] of conditions.entries()) {
    const at = STATUS.child("conditions").index(i);
    if (observedGeneration < 0) {
      const generationPath = at.child("observedGeneration");
      errors.push(invalid(generationPath, observedGeneration, "must be a non-negative integer"));
    }
    if (SYSTEM_CONDITIONS.includes(type)) continue;
    for (const fault of isQualifiedName(type)) errors.push(invalid(at.child("Type"), type, fault));
  }
}

/** The node that the scheduler has in mind; it says nothing any more once the pod is bound. */
function validateNomination(
  { nominatedNodeName = "" }: PodStatus,
  old: Pod,
  errors: FieldError[],
): void {
  if (nominatedNodeName === "" || nominatedNodeName === old.status.nominatedNodeName) return;
  const at = STATUS.child("nominatedNodeName");
  for (const fault of nameIsDnsSubdomain(nominatedNodeName, false)) {
    errors.push(invalid(at, nominatedNodeName, fault));
  }
  if ((old.spec.nodeName ?? "") !== "") {
    errors.push(forbidden(at, "may not be set on pods that are already bound to a node"));
  }
}

function validateClaimStatuses(
  { resourceClaimStatuses = [] }: PodStatus,
  { resourceClaims = [] }: PodSpec,
  errors: FieldError[],
): void {
  const seen = new Set<string>();
  for (const [i, { name, resourceClaimName }] of resourceClaimStatuses.entries()) {
    const at = STATUS.child("resourceClaimStatuses").index(i);
    if (!resourceClaims.some((claim) => claim.name === name)) {
      const detail = "must match the name of an entry in `spec.resourceClaims`";
      errors.push(invalid(at.child("name"), name, detail));
    }
    if (seen.has(name)) errors.push(duplicate(at.child("name"), name));
    seen.add(name);
    if (resourceClaimName === undefined) continue;
    for (const fault of nameIsDnsSubdomain(resourceClaimName, false)) {
      errors.push(invalid(at.child("resourceClaimName"), resourceClaimName, fault));
    }
  }
}

/** The claim that was made for extended resources, and what of it went to whom. */
function validateExtendedClaim(
  { extendedResourceClaimStatus: status }: PodStatus,
  { containers, initContainers = [] }: PodSpec,
  errors: FieldError[],
): void {
  if (status === undefined) return;
  const at = STATUS.child("extendedResourceClaimStatus");
  const mappings = status.requestMappings ?? [];
  if (mappings.length === 0) {
    errors.push(required(at.child("requestMappings"), "at least one request mapping is required"));
  }
  const seen = new Set<string>();
  for (const [i, mapping] of mappings.entries()) {
    const { containerName, resourceName, requestName } = mapping;
    const mappingPath = at.child("requestMappings").index(i);
    const container = [...initContainers, ...(containers ?? [])].findLast(
      ({ name }) => name === containerName,
    );
    if (container === undefined) {
      const detail =
        "must match the name of an entry in spec.initContainers.name or spec.containers.name";
      errors.push(invalid(mappingPath.child("containerName"), containerName, detail));
    } else if (ownValue(container.resources.requests, resourceName) === undefined) {
      const detail =
        "must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests";
      errors.push(invalid(mappingPath.child("resourceName"), resourceName, detail));
    }
    for (const fault of isDns1123Label(requestName)) {
      errors.push(invalid(at.child("requestName"), requestName, fault));
    }
    const key = JSON.stringify([containerName, resourceName, requestName]);
    if (seen.has(key)) {
      for (const field of ["containerName", "resourceName", "requestName"] as const) {
        errors.push(duplicate(mappingPath.child(field), mapping[field]));
      }
    }
    seen.add(key);
  }
  validateClaimName(status.resourceClaimName, at.child("resourceClaimName"), errors);
}

function validateClaimName(name: string, path: Path, errors: FieldError[]): void {
  if (name === "") errors.push(required(path, ""));
  else {
    for (const fault of nameIsDnsSubdomain(name, false)) errors.push(invalid(path, name, fault));
  }
}

function validatePodIps(status: PodStatus, old: PodStatus, errors: FieldError[]): void {
  const addresses = (status.podIPs ?? []).map(({ ip }) => ip);
  const known = (old.podIPs ?? []).map(({ ip }) => ip);
  validateAddresses(addresses, known, "podIPs", status.podIPs, errors);
}

function validateHostIps(status: PodStatus, old: PodStatus, errors: FieldError[]): void {
  const addresses = (status.hostIPs ?? []).map(({ ip }) => ip);
  if (addresses.length === 0) return;
  if ((status.hostIP ?? "") !== addresses[0]) {
    const at = STATUS.child("hostIPs").index(0).child("ip");
    errors.push(invalid(at, addresses[0], "must be equal to `hostIP`"));
  }
  const known = (old.hostIPs ?? []).map(({ ip }) => ip);
  validateAddresses(addresses, known, "hostIPs", status.hostIPs, errors);
}

/** At most one address of each family; odd ones may stay, but not come. */
function validateAddresses(
  addresses: readonly string[],
  known: readonly string[],
  field: "podIPs" | "hostIPs",
  shown: PodStatus["podIPs"],
  errors: FieldError[],
): void {
  const at = STATUS.child(field);
  for (const [i, address] of addresses.entries()) {
    if (known.includes(address)) continue;
    for (const fault of isIp(address)) errors.push(invalid(at.index(i), address, fault));
  }
  if (addresses.length < 2) return;
  const families = addresses.map((address) => parseIp(address)?.bytes.length);
  const broken = families.indexOf(undefined);
  if (broken >= 0) {
    const detail = `failed to check for dual stack with error:invalid IP[${broken}]: ${addresses[broken]}`;
    errors.push(internalError(at, detail));
  }
  if (broken < 0 && addresses.length === 2 && families[0] !== families[1]) return;
  const type = field === "podIPs" ? "[]core.v1.PodIP" : "[]core.v1.HostIP";
  const detail = "may specify no more than one IP for each IP family";
  errors.push(invalid(at, internalForm(type, shown), detail));
}
