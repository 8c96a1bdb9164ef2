/** What a pod calls itself, and the hosts file that says so. */
import type { Pod } from "#api/generated/core.v1.ts";

const HOSTNAME_MAX = 63;
const KERNEL_NAME_MAX = 64;

export interface PodHostname {
  readonly hostname: string;
  /** `sub.namespace.svc.cluster.local`; "" without a subdomain. */
  readonly domain: string;
  /** What the kernel is given. */
  readonly kernelName: string;
}

export function podHostname({ metadata, spec }: Pod, clusterDomain: string): PodHostname {
  if (spec.hostnameOverride) {
    return { hostname: spec.hostnameOverride, domain: "", kernelName: spec.hostnameOverride };
  }
  const hostname = spec.hostname || truncate(metadata.name ?? "");
  const domain =
    spec.subdomain === undefined || spec.subdomain === ""
      ? ""
      : `${spec.subdomain}.${metadata.namespace ?? ""}.svc.${clusterDomain}`;
  const isLong = spec.setHostnameAsFQDN === true && domain !== "";
  return { hostname, domain, kernelName: isLong ? `${hostname}.${domain}` : hostname };
}

/** The kernel keeps 64 bytes; a pod whose full name is longer cannot start. */
export function isKernelNameTooLong({ kernelName }: PodHostname): boolean {
  return kernelName.length > KERNEL_NAME_MAX;
}

function truncate(name: string): string {
  return name.length <= HOSTNAME_MAX ? name : name.slice(0, HOSTNAME_MAX).replace(/[-.]+$/, "");
}

export function hostsFile(
  pod: Pod,
  { hostname, domain }: PodHostname,
  podIps: readonly string[],
): string {
  const names = domain === "" ? hostname : `${hostname}.${domain}\t${hostname}`;
  const lines = [
    "# Kubernetes-managed hosts file.",
    "127.0.0.1\tlocalhost",
    "::1\tlocalhost ip6-localhost ip6-loopback",
    "fe00::0\tip6-localnet",
    "fe00::0\tip6-mcastprefix",
    "fe00::1\tip6-allnodes",
    "fe00::2\tip6-allrouters",
    ...podIps.map((ip) => `${ip}\t${names}`),
  ];
  return `${lines.join("\n")}\n${aliasLines(pod)}`;
}

/** Pods in the network of the node see the node's file. */
export function hostNetworkHostsFile(pod: Pod, nodeHosts: string): string {
  return `# Kubernetes-managed hosts file (host network).\n${nodeHosts}${aliasLines(pod)}`;
}

function aliasLines({ spec }: Pod): string {
  const aliases = spec.hostAliases ?? [];
  if (aliases.length === 0) return "";
  const lines = aliases.map(({ ip, hostnames = [] }) => `${ip}\t${hostnames.join("\t")}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join("")}`;
}
