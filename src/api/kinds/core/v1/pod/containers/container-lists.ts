/** The lists of containers of a pod: regular, init and ephemeral ones, and their differences. */
import { isEmptyCollection } from "#api/codec/empty-collections.ts";
import type { Container, EphemeralContainer } from "#api/generated/core.v1.ts";
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  notFound,
  required,
} from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";
import { type PodParts, validateContainer, validateTrimmedImage } from "./container.ts";
import { isSidecar } from "./containers.ts";
import { validateHandlers } from "./handlers.ts";
import { validateInitRestartPolicy, validateRestartPolicy } from "./restart-policy.ts";

export function validateContainers(
  containers: readonly Container[],
  parts: PodParts,
  path: Path,
  errors: FieldError[],
): void {
  if (containers.length === 0) errors.push(required(path, ""));
  const names = new Set<string>();
  for (const [i, container] of containers.entries()) {
    const at = path.index(i);
    validateContainer(container, parts, at, errors);
    if (names.has(container.name)) errors.push(duplicate(at.child("name"), container.name));
    names.add(container.name);
    validateHandlers(container, parts.spec, at, errors);
    validateRestartPolicy(container, at, errors);
  }
  validateHostPorts(containers, path, errors);
}

export function validateInitContainers(
  containers: readonly Container[],
  parts: PodParts,
  path: Path,
  errors: FieldError[],
): void {
  const names = new Set((parts.spec.containers ?? []).map(({ name }) => name));
  for (const [i, container] of containers.entries()) {
    const at = path.index(i);
    validateContainer(container, parts, at, errors);
    validateInitRestartPolicy(container, at, errors);
    if (names.has(container.name)) errors.push(duplicate(at.child("name"), container.name));
    else if (container.name !== "") names.add(container.name);
    // They run one after the other, so only ports of the same container can collide.
    validateHostPorts([container], path, errors);
    if (isSidecar(container)) validateHandlers(container, parts.spec, at, errors);
    else {
      forbidHandlers(container, at, errors);
      if (!parts.rules.allowRestartOnInitResize) forbidRestartOnResize(container, at, errors);
    }
  }
}

export function validateEphemeralContainers(
  containers: readonly EphemeralContainer[],
  parts: PodParts,
  path: Path,
  errors: FieldError[],
): void {
  const { containers: regular, initContainers = [] } = parts.spec;
  const others = new Set([...(regular ?? []), ...initContainers].map(({ name }) => name));
  const names = new Set(others);
  for (const [i, container] of containers.entries()) {
    const at = path.index(i);
    const { name, targetContainerName = "" } = container;
    validateContainer(container, parts, at, errors);
    validateTrimmedImage(container, at, errors);
    if (names.has(name)) errors.push(duplicate(at.child("name"), name));
    names.add(name);
    if (targetContainerName !== "" && !others.has(targetContainerName)) {
      errors.push(notFound(at.child("targetContainerName"), targetContainerName));
    }
    forbidServiceFields(container, at, errors);
  }
}

const HANDLERS = ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] as const;

function forbidHandlers(container: Container, path: Path, errors: FieldError[]): void {
  for (const field of HANDLERS) {
    if (container[field] === undefined) continue;
    const detail = "may not be set for init containers without restartPolicy=Always";
    errors.push(forbidden(path.child(field), detail));
  }
}

function forbidRestartOnResize(
  { resizePolicy = [] }: Container,
  path: Path,
  errors: FieldError[],
): void {
  for (const [i, { restartPolicy }] of resizePolicy.entries()) {
    if (restartPolicy !== "RestartContainer") continue;
    const at = path.child("resizePolicy").index(i).child("restartPolicy");
    const detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
    errors.push(invalid(at, restartPolicy, detail));
  }
}

/** Nothing may come to depend on an ephemeral container, so it has no part in the pod's service. */
const NOT_EPHEMERAL = [
  "ports",
  "resources",
  "resizePolicy",
  "restartPolicy",
  "restartPolicyRules",
  "livenessProbe",
  "readinessProbe",
  "startupProbe",
  "lifecycle",
] as const;
const NOT_EPHEMERAL_DETAIL = "cannot be set for an Ephemeral Container";

function forbidServiceFields(
  container: EphemeralContainer,
  path: Path,
  errors: FieldError[],
): void {
  for (const field of NOT_EPHEMERAL) {
    if (!isSet(container, field)) continue;
    errors.push(forbidden(path.child(field), NOT_EPHEMERAL_DETAIL));
  }
  for (const [i, mount] of (container.volumeMounts ?? []).entries()) {
    for (const field of ["subPath", "subPathExpr"] as const) {
      if ((mount[field] ?? "") === "") continue;
      const at = path.child("volumeMounts").index(i).child(field);
      errors.push(forbidden(at, NOT_EPHEMERAL_DETAIL));
    }
  }
}

function isSet(container: EphemeralContainer, field: (typeof NOT_EPHEMERAL)[number]): boolean {
  if (field !== "resources")
    return container[field] !== undefined || isEmptyCollection(container, field);
  const { resources } = container;
  return (["limits", "requests", "claims"] as const).some(
    (part) => resources?.[part] !== undefined || isEmptyCollection(resources, part),
  );
}

function validateHostPorts(
  containers: readonly Container[],
  path: Path,
  errors: FieldError[],
): void {
  if (!containers.some(({ ports }) => ports !== undefined)) return;
  const taken = new Set<string>();
  for (const [i, { ports = [] }] of containers.entries()) {
    for (const [j, { hostPort = 0, protocol = "", hostIP = "" }] of ports.entries()) {
      if (hostPort === 0) continue;
      const address = `${protocol}/${hostIP}/${hostPort}`;
      if (taken.has(address)) {
        const at = path.index(i).child("ports").index(j).child("hostPort");
        errors.push(duplicate(at, address));
      }
      taken.add(address);
    }
  }
}
