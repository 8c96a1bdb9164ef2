/** Security contexts of pods and containers in CRI's terms. */
import type {
  Container,
  Pod,
  SELinuxOptions,
  SeccompProfile,
  SecurityContext,
} from "#api/generated/core.v1.ts";
import {
  NAMESPACE_MODE,
  type NamespaceOption,
  PROFILE_TYPE,
  type SecurityProfile,
  SUPPLEMENTAL_GROUPS_POLICY,
  type UserNamespace,
} from "#kubelet/cri/common-messages.ts";
import type { LinuxContainerSecurityContext } from "#kubelet/cri/container-messages.ts";

/** Of the user that the image names. */
export interface ImageUser {
  readonly uid?: number | undefined;
  readonly username?: string | undefined;
}

const MASKED_PATHS = [
  "/proc/asound",
  "/proc/acpi",
  "/proc/interrupts",
  "/proc/kcore",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/timer_list",
  "/proc/timer_stats",
  "/proc/sched_debug",
  "/proc/scsi",
  "/sys/firmware",
  "/sys/devices/virtual/powercap",
];
const READONLY_PATHS = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

export function namespacesOf(
  { spec }: Pod,
  userNamespace: UserNamespace | undefined,
): NamespaceOption {
  return {
    ...(userNamespace === undefined ? {} : { usernsOptions: userNamespace }),
    network: spec.hostNetwork ? NAMESPACE_MODE.NODE : NAMESPACE_MODE.POD,
    ipc: spec.hostIPC ? NAMESPACE_MODE.NODE : NAMESPACE_MODE.POD,
    pid: spec.hostPID
      ? NAMESPACE_MODE.NODE
      : spec.shareProcessNamespace
        ? NAMESPACE_MODE.POD
        : NAMESPACE_MODE.CONTAINER,
  };
}

export function isPrivileged({ spec }: Pod): boolean {
  const all = [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
  return all.some(({ securityContext }) => securityContext?.privileged === true);
}

export interface ContainerSecurityOptions {
  readonly pod: Pod;
  readonly container: Container;
  readonly imageUser: ImageUser;
  /** Of an ephemeral container: whose processes it sees. */
  readonly targetId: string | undefined;
  /** Of the pod's sandbox. */
  readonly userNamespace: UserNamespace | undefined;
  readonly seccompRoot: string;
  readonly seccompDefault: boolean;
}

export function containerSecurityContext(
  options: ContainerSecurityOptions,
): LinuxContainerSecurityContext {
  const { pod, container, imageUser, targetId } = options;
  const podContext = pod.spec.securityContext ?? {};
  const context: SecurityContext = container.securityContext ?? {};
  const runAsUser = context.runAsUser ?? podContext.runAsUser ?? imageUser.uid;
  const runAsGroup = context.runAsGroup ?? podContext.runAsGroup;
  const isDefaultProc = (context.procMount ?? "Default") === "Default";
  const namespaces = namespacesOf(pod, options.userNamespace);
  const selinux = context.seLinuxOptions ?? podContext.seLinuxOptions;
  return {
    ...(context.capabilities === undefined
      ? {}
      : {
          capabilities: {
            addCapabilities: context.capabilities.add ?? [],
            dropCapabilities: context.capabilities.drop ?? [],
          },
        }),
    privileged: context.privileged ?? false,
    namespaceOptions:
      targetId !== undefined && namespaces.pid === NAMESPACE_MODE.CONTAINER
        ? { ...namespaces, pid: NAMESPACE_MODE.TARGET, targetId }
        : namespaces,
    ...(selinux === undefined ? {} : { selinuxOptions: selinuxOf(selinux) }),
    ...(runAsUser === undefined
      ? { runAsUsername: imageUser.username ?? "" }
      : { runAsUser: { value: runAsUser } }),
    ...(runAsGroup === undefined ? {} : { runAsGroup: { value: runAsGroup } }),
    readonlyRootfs: context.readOnlyRootFilesystem ?? false,
    supplementalGroups: supplementalGroups(pod),
    supplementalGroupsPolicy: groupsPolicy(pod),
    noNewPrivs: context.allowPrivilegeEscalation === false,
    maskedPaths: isDefaultProc ? MASKED_PATHS : [],
    readonlyPaths: isDefaultProc ? READONLY_PATHS : [],
    ...seccompOf(context.seccompProfile ?? podContext.seccompProfile, options),
    ...appArmorOf(context.appArmorProfile ?? podContext.appArmorProfile),
  };
}

export function supplementalGroups({ spec }: Pod): number[] {
  const { fsGroup, supplementalGroups: groups = [] } = spec.securityContext ?? {};
  return [...(fsGroup === undefined ? [] : [fsGroup]), ...groups];
}

export function groupsPolicy({ spec }: Pod): number {
  const policy = spec.securityContext?.supplementalGroupsPolicy;
  return policy === "Strict" ? SUPPLEMENTAL_GROUPS_POLICY.Strict : SUPPLEMENTAL_GROUPS_POLICY.Merge;
}

export function selinuxOf({ user = "", role = "", type = "", level = "" }: SELinuxOptions): {
  user: string;
  role: string;
  type: string;
  level: string;
} {
  return { user, role, type, level };
}

/** Undefined unless the container must not run; the message of CreateContainerConfigError. */
export function whyNotNonRoot(
  pod: Pod,
  container: Container,
  image: ImageUser,
): string | undefined {
  const context = container.securityContext;
  const podContext = pod.spec.securityContext;
  const mustNot = context?.runAsNonRoot ?? podContext?.runAsNonRoot ?? false;
  if (!mustNot) return undefined;
  const where = `(pod: "${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})", container: ${container.name})`;
  const uid = context?.runAsUser ?? podContext?.runAsUser;
  if (uid !== undefined) {
    if (uid !== 0) return undefined;
    return `container's runAsUser breaks non-root policy ${where}`;
  }
  if (image.uid === 0) return `container has runAsNonRoot and image will run as root ${where}`;
  if (image.uid === undefined && image.username) {
    return `container has runAsNonRoot and image has non-numeric user (${image.username}), cannot verify user is non-root ${where}`;
  }
  return undefined;
}

function seccompOf(
  profile: SeccompProfile | undefined,
  { seccompRoot, seccompDefault }: ContainerSecurityOptions,
): { seccomp: SecurityProfile } {
  const type = profile?.type ?? (seccompDefault ? "RuntimeDefault" : "Unconfined");
  if (type === "Localhost") {
    const localhostRef = `${seccompRoot}/${profile?.localhostProfile ?? ""}`;
    return { seccomp: { profileType: PROFILE_TYPE.Localhost, localhostRef } };
  }
  const profileType =
    type === "RuntimeDefault" ? PROFILE_TYPE.RuntimeDefault : PROFILE_TYPE.Unconfined;
  return { seccomp: { profileType } };
}

function appArmorOf(profile: { type: string; localhostProfile?: string } | undefined): {
  apparmor?: SecurityProfile;
} {
  if (profile === undefined) return {};
  if (profile.type === "Localhost") {
    const localhostRef = profile.localhostProfile ?? "";
    return { apparmor: { profileType: PROFILE_TYPE.Localhost, localhostRef } };
  }
  const profileType =
    profile.type === "Unconfined" ? PROFILE_TYPE.Unconfined : PROFILE_TYPE.RuntimeDefault;
  return { apparmor: { profileType } };
}
