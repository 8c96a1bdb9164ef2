/** One container: what all sorts of containers have in common. */
import type { ContainerPort, PodSpec, VolumeSource } from "#api/generated/core.v1.ts";
import {
  duplicate,
  type FieldError,
  invalid,
  notSupported,
  required,
} from "#api/validation/field-error.ts";
import { isDns1123Label, isPortName, isPortNumber } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import type { PodRules } from "../rules.ts";
import { validateSecurityContext } from "../security/security-context.ts";
import type { AnyContainer } from "./containers.ts";
import { validateEnv, validateEnvFrom } from "./env.ts";
import { validateMounts } from "./mounts.ts";
import { validateContainerResources } from "./resources.ts";
import { validateResizePolicy } from "./restart-policy.ts";

/** What a container may refer to in its pod. */
export interface PodParts {
  readonly spec: PodSpec;
  readonly rules: PodRules;
  /** The volumes that are well-formed. */
  readonly volumes: ReadonlyMap<string, VolumeSource>;
  readonly claimNames: ReadonlySet<string>;
}

const PROTOCOLS = ["SCTP", "TCP", "UDP"];
const PULL_POLICIES = ["Always", "IfNotPresent", "Never"];
const MESSAGE_POLICIES = ["File", "FallbackToLogsOnError"];

export function validateContainer(
  container: AnyContainer,
  parts: PodParts,
  path: Path,
  errors: FieldError[],
): void {
  const { spec, rules } = parts;
  const { name, image = "", terminationMessagePolicy = "", imagePullPolicy = "" } = container;
  if (name === "") errors.push(required(path.child("name"), ""));
  else {
    for (const fault of isDns1123Label(name)) errors.push(invalid(path.child("name"), name, fault));
  }
  if (image === "") errors.push(required(path.child("image"), ""));
  if (terminationMessagePolicy === "") {
    errors.push(required(path.child("terminationMessagePolicy"), ""));
  } else if (!MESSAGE_POLICIES.includes(terminationMessagePolicy)) {
    const at = path.child("terminationMessagePolicy");
    errors.push(notSupported(at, terminationMessagePolicy, MESSAGE_POLICIES));
  }
  if (container.ports !== undefined) validatePorts(container.ports, path.child("ports"), errors);
  if (container.env !== undefined) validateEnv(container.env, path.child("env"), errors);
  if (container.envFrom !== undefined) {
    validateEnvFrom(container.envFrom, path.child("envFrom"), errors);
  }
  validateMounts(container, parts.volumes, path, errors);
  validatePullPolicy(imagePullPolicy, path.child("imagePullPolicy"), errors);
  validateContainerResources(
    container.resources,
    parts.claimNames,
    rules,
    path.child("resources"),
    errors,
  );
  if (container.resizePolicy !== undefined) {
    validateResizePolicy(container.resizePolicy, spec, path.child("resizePolicy"), errors);
  }
  if (container.securityContext !== undefined) {
    const at = path.child("securityContext");
    validateSecurityContext(container.securityContext, spec, rules, at, errors);
  }
}

/** Templates may keep odd images as placeholders; pods may not. */
export function validateTrimmedImage(
  { image = "" }: AnyContainer,
  path: Path,
  errors: FieldError[],
): void {
  if (image.trim() === image) return;
  const detail = "must not have leading or trailing whitespace";
  errors.push(invalid(path.child("image"), image, detail));
}

export function validatePullPolicy(policy: string, path: Path, errors: FieldError[]): void {
  if (policy === "") errors.push(required(path, ""));
  else if (!PULL_POLICIES.includes(policy)) errors.push(notSupported(path, policy, PULL_POLICIES));
}

function validatePorts(ports: readonly ContainerPort[], path: Path, errors: FieldError[]): void {
  const names = new Set<string>();
  for (const [i, port] of ports.entries()) {
    const { name = "", containerPort, hostPort = 0, protocol = "" } = port;
    const at = path.index(i);
    if (name !== "") validatePortName(name, names, at.child("name"), errors);
    if (containerPort === 0) errors.push(required(at.child("containerPort"), ""));
    else validatePortNumber(containerPort, at.child("containerPort"), errors);
    if (hostPort !== 0) validatePortNumber(hostPort, at.child("hostPort"), errors);
    if (protocol === "") errors.push(required(at.child("protocol"), ""));
    else if (!PROTOCOLS.includes(protocol)) {
      errors.push(notSupported(at.child("protocol"), protocol, PROTOCOLS));
    }
  }
}

function validatePortName(
  name: string,
  names: Set<string>,
  path: Path,
  errors: FieldError[],
): void {
  const faults = isPortName(name);
  for (const fault of faults) errors.push(invalid(path, name, fault));
  if (faults.length > 0) return;
  if (names.has(name)) errors.push(duplicate(path, name));
  names.add(name);
}

function validatePortNumber(port: number, path: Path, errors: FieldError[]): void {
  for (const fault of isPortNumber(port)) errors.push(invalid(path, port, fault));
}
