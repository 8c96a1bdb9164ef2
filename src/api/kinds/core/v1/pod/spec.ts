/**
 * A pod spec as a whole: every part in the order in which its faults are reported.
 *
 * The checks in this folder share these promises:
 * 1. A check appends what it finds to `errors` and goes on, so that all errors are reported at once.
 * 2. It gets the path of what it checks, and makes those of the parts as it needs them.
 * 3. It sees a spec with its defaults, and does not change it.
 * 4. `PodRules` says where it has to be lenient, and is asked for nothing else.
 */
import type { PodResourceClaim, PodSpec } from "#api/generated/core.v1.ts";
import type { ObjectMeta } from "#api/generated/meta.v1.ts";
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from "#api/validation/field-error.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { validateLabels } from "#api/validation/labels.ts";
import {
  ID_MAX,
  isDns1123Label,
  isInRange,
  isQualifiedName,
  nameIsDnsSubdomain,
} from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { MIRROR_POD } from "./annotations.ts";
import type { PodParts } from "./containers/container.ts";
import {
  validateContainers,
  validateEphemeralContainers,
  validateInitContainers,
} from "./containers/container-lists.ts";
import { placedContainers } from "./containers/containers.ts";
import { validateEnvFileVolumes } from "./containers/env.ts";
import { validateOverhead, validatePodResources } from "./containers/resources.ts";
import {
  validateDnsConfig,
  validateDnsPolicy,
  validateHostAliases,
  validateHostnameOverride,
} from "./dns.ts";
import { validateAffinity } from "./placement/affinity.ts";
import { validateTolerations } from "./placement/tolerations.ts";
import { validateTopologySpread } from "./placement/topology-spread.ts";
import type { PodRules } from "./rules.ts";
import { validateOs } from "./security/os-fields.ts";
import { validatePodSecurityContext } from "./security/security-context.ts";
import { validateHostProcesses } from "./security/windows-options.ts";
import { validateVolumes } from "./volumes/volumes.ts";

const RESTART_POLICIES = ["Always", "OnFailure", "Never"];
const PREEMPTION_POLICIES = ["PreemptLowerPriority", "Never"];
const NO_NAMES: ReadonlySet<string> = new Set();

/** `meta` only if the spec is that of a real pod. */
export function validatePodSpec(
  spec: PodSpec,
  meta: ObjectMeta | undefined,
  rules: PodRules,
  path: Path,
  errors: FieldError[],
): void {
  if (spec.terminationGracePeriodSeconds === undefined) {
    errors.push(required(path.child("terminationGracePeriodSeconds"), ""));
  }
  validateParts(spec, meta, rules, path, errors);
  validateHostNetworkPorts(spec, rules, path, errors);
  validateRestartPolicy(spec.restartPolicy ?? "", path.child("restartPolicy"), errors);
  validateDnsPolicy(spec, path, errors);
  if (spec.nodeSelector !== undefined) {
    errors.push(...validateLabels(spec.nodeSelector, path.child("nodeSelector")));
  }
  const context = spec.securityContext ?? {};
  validatePodSecurityContext(context, spec, rules, path.child("securityContext"), errors);
  if (spec.affinity !== undefined) {
    validateAffinity(spec.affinity, rules, path.child("affinity"), errors);
  }
  validateDnsConfig(spec, path.child("dnsConfig"), errors);
  validateGates(spec, path, errors);
  if (spec.topologySpreadConstraints !== undefined) {
    const at = path.child("topologySpreadConstraints");
    validateTopologySpread(spec.topologySpreadConstraints, rules, at, errors);
  }
  validateHostProcesses(spec, rules, path, errors);
  validateUserNamespace(spec, rules, path, errors);
  validateHostnameOverride(spec, path, errors);
  validateNames(spec, path, errors);
  if (spec.tolerations !== undefined) {
    validateTolerations(spec.tolerations, rules, path.child("tolerations"), errors);
  }
  if (spec.hostAliases !== undefined) {
    validateHostAliases(spec.hostAliases, path.child("hostAliases"), errors);
  }
  validateScheduling(spec, rules, path, errors);
  validateOs(spec, path, errors);
  validateEnvFileVolumes(spec, path, errors);
}

/** Volumes, claims, containers of all sorts, and the resources of them all. */
function validateParts(
  spec: PodSpec,
  meta: ObjectMeta | undefined,
  rules: PodRules,
  path: Path,
  errors: FieldError[],
): void {
  const { resourceClaims, initContainers, ephemeralContainers } = spec;
  const volumes = validateVolumes(spec, meta?.name ?? "", rules, path.child("volumes"), errors);
  let claimNames = NO_NAMES;
  if (resourceClaims !== undefined) {
    claimNames = new Set(resourceClaims.map(({ name }) => name).filter((name) => name !== ""));
    validateResourceClaims(resourceClaims, meta, path.child("resourceClaims"), errors);
  }
  const parts: PodParts = { spec, rules, volumes, claimNames };
  validateContainers(spec.containers ?? [], parts, path.child("containers"), errors);
  if (initContainers !== undefined) {
    validateInitContainers(initContainers, parts, path.child("initContainers"), errors);
  }
  if (ephemeralContainers !== undefined) {
    const at = path.child("ephemeralContainers");
    validateEphemeralContainers(ephemeralContainers, parts, at, errors);
  }
  validatePodResources(spec, claimNames, rules, path.child("resources"), errors);
}

function validateResourceClaims(
  claims: readonly PodResourceClaim[],
  meta: ObjectMeta | undefined,
  path: Path,
  errors: FieldError[],
): void {
  const isMirror = meta?.annotations?.[MIRROR_POD] !== undefined;
  const names = new Set<string>();
  for (const [i, claim] of claims.entries()) {
    if (isMirror) {
      errors.push(forbidden(Path.of(""), "static pods do not support resource claims"));
    } else validateResourceClaim(claim, names, path.index(i), errors);
  }
}

function validateResourceClaim(
  claim: PodResourceClaim,
  names: Set<string>,
  path: Path,
  errors: FieldError[],
): void {
  const { name, resourceClaimName, resourceClaimTemplateName } = claim;
  if (name === "") errors.push(required(path.child("name"), ""));
  else if (names.has(name)) errors.push(duplicate(path.child("name"), name));
  else validateLabelText(name, path.child("name"), errors);
  names.add(name);

  const given = [resourceClaimName, resourceClaimTemplateName].filter((n) => n !== undefined);
  if (given.length !== 1) {
    const detail =
      given.length === 2
        ? "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        : "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
    errors.push(invalid(path, internalForm("core.v1.PodResourceClaim", claim), detail));
  }
  validateObjectName(resourceClaimName, path.child("resourceClaimName"), errors);
  validateObjectName(resourceClaimTemplateName, path.child("resourceClaimTemplateName"), errors);
}

/** On the host's network a container's port is the host's; a template may leave that open. */
function validateHostNetworkPorts(
  { hostNetwork, containers }: PodSpec,
  { isPod }: PodRules,
  path: Path,
  errors: FieldError[],
): void {
  if (hostNetwork !== true) return;
  for (const [i, { ports = [] }] of (containers ?? []).entries()) {
    for (const [j, { hostPort = 0, containerPort }] of ports.entries()) {
      if (hostPort === containerPort || (hostPort === 0 && !isPod)) continue;
      const at = path.child("containers").index(i).child("ports").index(j).child("hostPort");
      const detail = "must match `containerPort` when `hostNetwork` is true";
      errors.push(invalid(at, hostPort, detail));
    }
  }
}

function validateRestartPolicy(policy: string, path: Path, errors: FieldError[]): void {
  if (policy === "") errors.push(required(path, ""));
  else if (!RESTART_POLICIES.includes(policy)) {
    errors.push(notSupported(path, policy, RESTART_POLICIES));
  }
}

function validateGates(
  { readinessGates = [], schedulingGates = [] }: PodSpec,
  path: Path,
  errors: FieldError[],
): void {
  if (readinessGates.length === 0 && schedulingGates.length === 0) return;
  for (const [i, { conditionType }] of readinessGates.entries()) {
    const at = path.child("readinessGates").index(i).child("conditionType");
    for (const fault of isQualifiedName(conditionType)) {
      errors.push(invalid(at, conditionType, fault));
    }
  }
  const seen = new Set<string>();
  for (const [i, { name }] of schedulingGates.entries()) {
    const at = path.child("schedulingGates").index(i);
    for (const fault of isQualifiedName(name)) errors.push(invalid(at, name, fault));
    if (seen.has(name)) errors.push(duplicate(at, name));
    seen.add(name);
  }
}

/** A user namespace of its own does not go with other namespaces of the host. */
function validateUserNamespace(
  spec: PodSpec,
  rules: PodRules,
  path: Path,
  errors: FieldError[],
): void {
  if (spec.hostUsers !== false) return;
  const detail = "when `hostUsers` is false";
  if (spec.hostNetwork && !rules.allowHostNetworkWithUserNamespace) {
    errors.push(forbidden(path.child("hostNetwork"), detail));
  }
  if (spec.hostPID) errors.push(forbidden(path.child("HostPID"), detail));
  if (spec.hostIPC) errors.push(forbidden(path.child("HostIPC"), detail));
  if (rules.allowDevicesWithUserNamespace) return;
  for (const { container, path: at } of placedContainers(spec, path)) {
    if ((container.volumeDevices ?? []).length === 0) continue;
    errors.push(forbidden(at.child("volumeDevices"), detail));
  }
}

function validateNames(spec: PodSpec, path: Path, errors: FieldError[]): void {
  const { serviceAccountName = "", nodeName = "", hostname = "", subdomain = "" } = spec;
  if (serviceAccountName !== "") {
    validateObjectName(serviceAccountName, path.child("serviceAccountName"), errors);
  }
  if (nodeName !== "") validateObjectName(nodeName, path.child("nodeName"), errors);
  if (spec.activeDeadlineSeconds !== undefined) {
    const at = path.child("activeDeadlineSeconds");
    for (const fault of isInRange(spec.activeDeadlineSeconds, 1, ID_MAX)) {
      errors.push(invalid(at, spec.activeDeadlineSeconds, fault));
    }
  }
  if (hostname !== "") validateLabelText(hostname, path.child("hostname"), errors);
  if (subdomain !== "") validateLabelText(subdomain, path.child("subdomain"), errors);
}

function validateScheduling(
  spec: PodSpec,
  rules: PodRules,
  path: Path,
  errors: FieldError[],
): void {
  const { priorityClassName = "", preemptionPolicy } = spec;
  if (priorityClassName !== "") {
    validateObjectName(priorityClassName, path.child("priorityClassName"), errors);
  }
  validateObjectName(spec.runtimeClassName, path.child("runtimeClassName"), errors);
  if (preemptionPolicy === "") errors.push(required(path.child("preemptionPolicy"), ""));
  else if (preemptionPolicy !== undefined && !PREEMPTION_POLICIES.includes(preemptionPolicy)) {
    const at = path.child("preemptionPolicy");
    errors.push(notSupported(at, preemptionPolicy, PREEMPTION_POLICIES));
  }
  if (spec.overhead !== undefined) {
    validateOverhead(spec.overhead, rules, path.child("overhead"), errors);
  }
}

function validateObjectName(name: string | undefined, path: Path, errors: FieldError[]): void {
  if (name === undefined) return;
  for (const fault of nameIsDnsSubdomain(name, false)) errors.push(invalid(path, name, fault));
}

function validateLabelText(text: string, path: Path, errors: FieldError[]): void {
  for (const fault of isDns1123Label(text)) errors.push(invalid(path, text, fault));
}
