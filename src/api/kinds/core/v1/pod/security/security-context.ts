/** Which rights the processes of a pod have: for the pod, and for one container. */
import type { PodSecurityContext, PodSpec, SecurityContext } from "#api/generated/core.v1.ts";
import { type FieldError, forbidden, invalid, notSupported } from "#api/validation/field-error.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { isUnixId } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import { usesHostUsers } from "../containers/containers.ts";
import type { PodRules } from "../rules.ts";
import { validateAppArmorProfile, validateSeccompProfile } from "./profiles.ts";
import { validateSysctls } from "./sysctls.ts";
import { validateWindowsOptions } from "./windows-options.ts";

const PROC_MOUNTS = ["Default", "Unmasked"];
const FS_GROUP_CHANGE_POLICIES = ["Always", "OnRootMismatch"];
const SUPPLEMENTAL_GROUPS_POLICIES = ["Merge", "Strict"];
const SELINUX_CHANGE_POLICIES = ["MountOption", "Recursive"];

export function validateSecurityContext(
  context: SecurityContext,
  spec: PodSpec,
  { allowPrivileged }: PodRules,
  path: Path,
  errors: FieldError[],
): void {
  if (context.privileged === true && !allowPrivileged) {
    errors.push(forbidden(path.child("privileged"), "disallowed by cluster policy"));
  }
  validateId(context.runAsUser, path.child("runAsUser"), errors);
  validateId(context.runAsGroup, path.child("runAsGroup"), errors);
  validateProcMount(context, spec, path.child("procMount"), errors);
  validateSeccompProfile(context.seccompProfile, path.child("seccompProfile"), errors);
  if (context.allowPrivilegeEscalation === false) validateNoEscalation(context, path, errors);
  validateWindowsOptions(context.windowsOptions, path.child("windowsOptions"), errors);
  validateAppArmorProfile(context.appArmorProfile, path.child("appArmorProfile"), errors);
}

export function validatePodSecurityContext(
  context: PodSecurityContext,
  spec: PodSpec,
  rules: PodRules,
  path: Path,
  errors: FieldError[],
): void {
  if (Object.keys(context).length === 0 && spec.hostPID !== true) return;
  const { supplementalGroups = [], sysctls = [] } = context;
  validateId(context.fsGroup, path.child("fsGroup"), errors);
  validateId(context.runAsUser, path.child("runAsUser"), errors);
  validateId(context.runAsGroup, path.child("runAsGroup"), errors);
  for (const [i, id] of supplementalGroups.entries()) {
    validateId(id, path.child("supplementalGroups").index(i), errors);
  }
  if (spec.shareProcessNamespace === true && spec.hostPID === true) {
    const detail = "ShareProcessNamespace and HostPID cannot both be enabled";
    errors.push(invalid(path.child("shareProcessNamespace"), true, detail));
  }
  if (sysctls.length > 0) validateSysctls(sysctls, spec, rules, path.child("sysctls"), errors);
  const { fsGroupChangePolicy, supplementalGroupsPolicy, seLinuxChangePolicy } = context;
  oneOf(fsGroupChangePolicy, FS_GROUP_CHANGE_POLICIES, path.child("fsGroupChangePolicy"), errors);
  validateSeccompProfile(context.seccompProfile, path.child("seccompProfile"), errors);
  validateWindowsOptions(context.windowsOptions, path.child("windowsOptions"), errors);
  validateAppArmorProfile(context.appArmorProfile, path.child("appArmorProfile"), errors);
  oneOf(
    supplementalGroupsPolicy,
    SUPPLEMENTAL_GROUPS_POLICIES,
    path.child("supplementalGroupsPolicy"),
    errors,
  );
  oneOf(
    seLinuxChangePolicy,
    rules.allowAnySeLinuxChangePolicy ? SELINUX_CHANGE_POLICIES : ["Recursive"],
    path.child("seLinuxChangePolicy"),
    errors,
  );
}

function validateId(id: number | undefined, path: Path, errors: FieldError[]): void {
  if (id === undefined) return;
  for (const fault of isUnixId(id)) errors.push(invalid(path, id, fault));
}

function validateProcMount(
  { procMount }: SecurityContext,
  spec: PodSpec,
  path: Path,
  errors: FieldError[],
): void {
  if (procMount === undefined) return;
  oneOf(procMount, PROC_MOUNTS, path, errors);
  if (procMount === "Unmasked" && usesHostUsers(spec)) {
    errors.push(invalid(path, procMount, "`hostUsers` must be false to use `Unmasked`"));
  }
}

function validateNoEscalation(context: SecurityContext, path: Path, errors: FieldError[]): void {
  const faults: string[] = [];
  if (context.privileged === true) faults.push("`privileged` to true");
  for (const capability of context.capabilities?.add ?? []) {
    if (capability === "CAP_SYS_ADMIN") faults.push("`capabilities.Add` CAP_SYS_ADMIN");
  }
  for (const fault of faults) {
    const shown = internalForm("core.v1.SecurityContext", context);
    const detail = `cannot set \`allowPrivilegeEscalation\` to false and ${fault}`;
    errors.push(invalid(path, shown, detail));
  }
}

function oneOf(
  value: string | undefined,
  supported: readonly string[],
  path: Path,
  errors: FieldError[],
): void {
  if (value === undefined || supported.includes(value)) return;
  errors.push(notSupported(path, value, supported));
}
