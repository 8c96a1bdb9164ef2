/** What is reported about the containers of a pod. */
import type {
  Container,
  ContainerRestartRule,
  ContainerStatus,
  PodSpec,
  PodStatus,
  ResourceStatus,
} from "#api/generated/core.v1.ts";
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
  tooLong,
} from "#api/validation/field-error.ts";
import { isUnixId } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import { ownValue } from "#lib/own-value.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";

const HEALTHS = ["Healthy", "Unhealthy", "Unknown"];
const MESSAGE_MAX = 1024;

/** Which of the containers that have ended may run again. */
export function validateContainerTransitions(
  status: PodStatus,
  old: PodStatus,
  spec: PodSpec,
  path: Path,
  errors: FieldError[],
): void {
  const { containers, initContainers = [] } = spec;
  if (!anyRestartsAll(spec)) {
    const mayRestart = (list: readonly Container[]) => (name: string, exitCode: number) => {
      const container = list.find((each) => each.name === name);
      return container !== undefined && shouldRestart(container, spec, exitCode);
    };
    const check = (field: StatusList, list: readonly Container[]) =>
      validateTransitions(status[field], old[field], mayRestart(list), path.child(field), errors);
    check("containerStatuses", containers ?? []);
    check("initContainerStatuses", initContainers);
  }
  const field = "ephemeralContainerStatuses";
  validateTransitions(status[field], old[field], () => false, path.child(field), errors);
}

type StatusList = "containerStatuses" | "initContainerStatuses" | "ephemeralContainerStatuses";

/** Who runs in the containers, and with which devices. */
export function validateContainerStatuses(
  status: PodStatus,
  spec: PodSpec,
  path: Path,
  errors: FieldError[],
): void {
  const regular = status.containerStatuses ?? [];
  const init = status.initContainerStatuses ?? [];
  const ephemeral = status.ephemeralContainerStatuses ?? [];
  const regularPath = path.child("containerStatuses");
  const initPath = path.child("initContainerStatuses");
  const ephemeralPath = path.child("ephemeralContainerStatuses");
  const { containers, initContainers = [] } = spec;
  const onWindows = spec.os?.name === "windows";
  validateUsers(regular, onWindows, regularPath, errors);
  validateUsers(init, onWindows, initPath, errors);
  validateUsers(ephemeral, onWindows, ephemeralPath, errors);
  validateAllocations(regular, containers ?? [], regularPath, errors);
  validateAllocations(init, initContainers, initPath, errors);
  for (const [i, { allocatedResourcesStatus = [] }] of ephemeral.entries()) {
    if (allocatedResourcesStatus.length === 0) continue;
    const at = ephemeralPath.index(i).child("allocatedResourcesStatus");
    errors.push(forbidden(at, "must not be specified in container status"));
  }
}

/** A container that has ended stays so, unless it is one that is started again. */
function validateTransitions(
  statuses: readonly ContainerStatus[] = [],
  old: readonly ContainerStatus[] = [],
  mayRestart: (name: string, exitCode: number) => boolean,
  path: Path,
  errors: FieldError[],
): void {
  for (const [i, { name, state }] of old.entries()) {
    if (state?.terminated === undefined) continue;
    const next = statuses.find(
      (status) => status.name === name && status.state?.terminated === undefined,
    );
    if (next === undefined || mayRestart(name, state.terminated.exitCode)) continue;
    const detail = "may not be transitioned to non-terminated state";
    errors.push(forbidden(path.index(i).child("state"), detail));
  }
}

function anyRestartsAll({ initContainers = [], containers }: PodSpec): boolean {
  return [...initContainers, ...(containers ?? [])].some(({ restartPolicyRules = [] }) =>
    restartPolicyRules.some(({ action }) => action === "RestartAllContainers"),
  );
}

/** The first rule that the exit code matches decides, then the container's policy, then the pod's. */
function shouldRestart(container: Container, spec: PodSpec, exitCode: number): boolean {
  const { restartPolicy, restartPolicyRules = [] } = container;
  if (restartPolicy !== undefined) {
    if (restartPolicyRules.find((rule) => matches(rule, exitCode))?.action === "Restart")
      return true;
    const decided = restartsAfter(restartPolicy, exitCode);
    if (decided !== undefined) return decided;
  }
  return restartsAfter(spec.restartPolicy ?? "", exitCode) ?? true;
}

function matches({ exitCodes }: ContainerRestartRule, exitCode: number): boolean {
  if (exitCodes === undefined) return false;
  const isListed = (exitCodes.values ?? []).includes(exitCode);
  if (exitCodes.operator === "In") return isListed;
  return exitCodes.operator === "NotIn" && !isListed;
}

function restartsAfter(policy: string, exitCode: number): boolean | undefined {
  if (policy === "Always") return true;
  if (policy === "Never") return false;
  return policy === "OnFailure" ? exitCode !== 0 : undefined;
}

function validateUsers(
  statuses: readonly ContainerStatus[],
  onWindows: boolean,
  path: Path,
  errors: FieldError[],
): void {
  for (const [i, { user }] of statuses.entries()) {
    const linux = user?.linux;
    if (linux === undefined) continue;
    const at = path.index(i).child("user", "linux");
    if (onWindows) {
      errors.push(forbidden(at, "cannot be set for a windows pod"));
      continue;
    }
    validateId(linux.uid, at.child("uid"), errors);
    validateId(linux.gid, at.child("gid"), errors);
    for (const [j, id] of (linux.supplementalGroups ?? []).entries()) {
      validateId(id, at.child("supplementalGroups").index(j), errors);
    }
  }
}

function validateId(id: number, path: Path, errors: FieldError[]): void {
  for (const fault of isUnixId(id)) errors.push(invalid(path, id, fault));
}

function validateAllocations(
  statuses: readonly ContainerStatus[],
  containers: readonly Container[],
  path: Path,
  errors: FieldError[],
): void {
  for (const [i, { name, allocatedResourcesStatus = [] }] of statuses.entries()) {
    const container = containers.find((each) => each.name === name);
    for (const [j, allocation] of allocatedResourcesStatus.entries()) {
      const at = path.index(i).child("allocatedResourcesStatus").index(j);
      if (container !== undefined) validateAllocated(allocation, container, at, errors);
      validateHealth(allocation, at.child("resources"), errors);
    }
  }
}

function validateAllocated(
  { name }: ResourceStatus,
  { resources: { claims = [], requests = {} } }: Container,
  path: Path,
  errors: FieldError[],
): void {
  const isClaim = name.startsWith("claim:");
  const known = isClaim
    ? claims.some((c) => name === `claim:${c.name}${c.request ? `/${c.request}` : ""}`)
    : ownValue(requests, name) !== undefined;
  if (known) return;
  const detail = isClaim
    ? "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
    : "must match one of the container's resource requests";
  errors.push(invalid(path.child("name"), name, detail));
}

function validateHealth(
  { resources = [] }: ResourceStatus,
  path: Path,
  errors: FieldError[],
): void {
  const seen = new Set<string>();
  for (const [i, { resourceID, health = "", message }] of resources.entries()) {
    const at = path.index(i);
    if (!HEALTHS.includes(health)) errors.push(notSupported(at.child("health"), health, HEALTHS));
    if (message === "") {
      errors.push(required(at.child("message"), "must be non-empty if specified"));
    } else if (message !== undefined && utf8Length(message) > MESSAGE_MAX) {
      errors.push(tooLong(at.child("message"), MESSAGE_MAX));
    }
    if (seen.has(resourceID)) errors.push(duplicate(at.child("resourceID"), resourceID));
    seen.add(resourceID);
  }
}
