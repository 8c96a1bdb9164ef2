/** Fields that mean nothing on the operating system that a pod asks for. */
import { isEmptyCollection } from "#api/codec/empty-collections.ts";
import type { PodSecurityContext, PodSpec, SecurityContext } from "#api/generated/core.v1.ts";
import { type FieldError, forbidden, notSupported, required } from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";
import { placedContainers } from "../containers/containers.ts";

const NAMES = ["linux", "windows"];
const NOT_ON_WINDOWS = "cannot be set for a windows pod";
const NOT_ON_LINUX = "windows options cannot be set for a linux pod";

export function validateOs(spec: PodSpec, path: Path, errors: FieldError[]): void {
  if (spec.os === undefined) return;
  const { name } = spec.os;
  if (name === "") errors.push(required(path.child("os", "name"), ""));
  else if (!NAMES.includes(name)) errors.push(notSupported(path.child("os"), name, NAMES));
  else if (name === "linux") validateLinux(spec, path, errors);
  else validateWindows(spec, path, errors);
}

function validateLinux(spec: PodSpec, path: Path, errors: FieldError[]): void {
  if (spec.securityContext?.windowsOptions !== undefined) {
    errors.push(forbidden(path.child("securityContext", "windowsOptions"), NOT_ON_LINUX));
  }
  for (const { container, path: at } of placedContainers(spec, path)) {
    if (container.securityContext?.windowsOptions === undefined) continue;
    errors.push(forbidden(at.child("securityContext", "windowsOptions"), NOT_ON_LINUX));
  }
}

/** In the order in which they are reported; some stand beside the security context. */
const POD_FIELDS: readonly (keyof PodSecurityContext | keyof PodSpec)[] = [
  "appArmorProfile",
  "seLinuxOptions",
  "hostUsers",
  "hostPID",
  "hostIPC",
  "seccompProfile",
  "fsGroup",
  "fsGroupChangePolicy",
  "sysctls",
  "shareProcessNamespace",
  "runAsUser",
  "runAsGroup",
  "supplementalGroups",
  "supplementalGroupsPolicy",
  "seLinuxChangePolicy",
];
const OF_SPEC = ["hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"] as const;

const CONTAINER_FIELDS: readonly (keyof SecurityContext)[] = [
  "appArmorProfile",
  "seLinuxOptions",
  "seccompProfile",
  "capabilities",
  "readOnlyRootFilesystem",
  "privileged",
  "allowPrivilegeEscalation",
  "procMount",
  "runAsUser",
  "runAsGroup",
];

function validateWindows(spec: PodSpec, path: Path, errors: FieldError[]): void {
  const fields = { ...spec.securityContext, ...ofSpec(spec) } as Record<string, unknown>;
  for (const field of POD_FIELDS) {
    const isGiven =
      fields[field] !== undefined ||
      (field === "supplementalGroups" && isEmptyCollection(spec.securityContext, field));
    if (!isGiven) continue;
    const inSpec = (OF_SPEC as readonly string[]).includes(field);
    const at = inSpec ? path.child(field) : path.child("securityContext", field);
    errors.push(forbidden(at, NOT_ON_WINDOWS));
  }
  for (const { container, path: at } of placedContainers(spec, path)) {
    for (const field of CONTAINER_FIELDS) {
      if (container.securityContext?.[field] === undefined) continue;
      errors.push(forbidden(at.child("securityContext", field), NOT_ON_WINDOWS));
    }
  }
}

function ofSpec(spec: PodSpec): Record<string, unknown> {
  const { hostUsers, shareProcessNamespace } = spec;
  const hostPID = spec.hostPID || undefined;
  const hostIPC = spec.hostIPC || undefined;
  return { hostUsers, shareProcessNamespace, hostPID, hostIPC };
}
