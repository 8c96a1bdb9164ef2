/** A pod as the runtime is asked for its sandbox. */
import type { Pod } from "#api/generated/core.v1.ts";
import { PROFILE_TYPE, type UserNamespace } from "#kubelet/cri/common-messages.ts";
import {
  type PodSandboxConfig,
  type PortMapping,
  PROTOCOL,
} from "#kubelet/cri/sandbox-messages.ts";
import type { ResolverSettings } from "#kubelet/decide/inputs/pod-dns.ts";
import type { PodHostname } from "#kubelet/decide/inputs/pod-hostname.ts";
import { podAnnotations, podLabels } from "./labels.ts";
import {
  groupsPolicy,
  isPrivileged,
  namespacesOf,
  selinuxOf,
  supplementalGroups,
} from "./security-context.ts";

export interface SandboxOptions {
  readonly pod: Pod;
  readonly attempt: number;
  readonly dns: ResolverSettings;
  readonly hostname: PodHostname;
  readonly logDirectory: string;
  readonly cgroupParent: string;
  readonly userNamespace: UserNamespace;
}

export function sandboxConfig(options: SandboxOptions): PodSandboxConfig {
  const { pod, attempt, dns, hostname, logDirectory, cgroupParent } = options;
  const { name = "", namespace = "", uid = "" } = pod.metadata;
  const context = pod.spec.securityContext ?? {};
  return {
    metadata: { name, namespace, uid, attempt },
    hostname: pod.spec.hostNetwork ? "" : hostname.kernelName,
    logDirectory,
    dnsConfig: dns,
    portMappings: portMappings(pod),
    labels: podLabels(pod),
    annotations: podAnnotations(pod),
    linux: {
      cgroupParent,
      sysctls: Object.fromEntries((context.sysctls ?? []).map((one) => [one.name, one.value])),
      securityContext: {
        privileged: isPrivileged(pod),
        seccomp: { profileType: PROFILE_TYPE.RuntimeDefault },
        namespaceOptions: namespacesOf(pod, options.userNamespace),
        supplementalGroups: supplementalGroups(pod),
        supplementalGroupsPolicy: groupsPolicy(pod),
        ...(context.runAsUser === undefined ? {} : { runAsUser: { value: context.runAsUser } }),
        ...(context.runAsGroup === undefined ? {} : { runAsGroup: { value: context.runAsGroup } }),
        ...(context.seLinuxOptions === undefined
          ? {}
          : { selinuxOptions: selinuxOf(context.seLinuxOptions) }),
      },
    },
  };
}

function portMappings({ spec }: Pod): PortMapping[] {
  const containers = [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
  return containers.flatMap(({ ports = [] }) =>
    ports.map(({ containerPort, hostPort = 0, hostIP = "", protocol = "TCP" }) => ({
      containerPort,
      hostPort,
      hostIp: hostIP,
      protocol:
        protocol === "UDP" ? PROTOCOL.UDP : protocol === "SCTP" ? PROTOCOL.SCTP : PROTOCOL.TCP,
    })),
  );
}
