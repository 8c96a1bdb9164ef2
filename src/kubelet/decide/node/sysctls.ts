/** Which kernel parameters pods may set: safe ones, and those of `allowedUnsafeSysctls`. */
import type { Pod } from "#api/generated/core.v1.ts";

/** They belong to the pod's own namespaces and have no effect on other pods. */
const SAFE = [
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.ping_group_range",
  "net.ipv4.ip_unprivileged_port_start",
  "net.ipv4.ip_local_reserved_ports",
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
  "net.ipv4.tcp_rmem",
  "net.ipv4.tcp_wmem",
];
const IPC = ["kernel.sem"];
const IPC_PREFIXES = ["kernel.shm", "kernel.msg", "fs.mqueue."];
const NET_PREFIX = "net.";

/** Undefined if the pod may have them all; otherwise the message of SysctlForbidden. */
export function whyForbiddenSysctl(
  { spec }: Pod,
  allowedUnsafe: readonly string[],
): string | undefined {
  const patterns = [...SAFE, ...allowedUnsafe.map(normalized)];
  for (const { name } of spec.securityContext?.sysctls ?? []) {
    const sysctl = normalized(name);
    const isAllowed = patterns.some((pattern) =>
      pattern.endsWith("*") ? sysctl.startsWith(pattern.slice(0, -1)) : sysctl === pattern,
    );
    if (!isAllowed) return `forbidden sysctl: "${sysctl}" not allowlisted`;
    const namespace = namespaceOf(sysctl);
    const isOfHost = namespace === "net" ? spec.hostNetwork : namespace === "ipc" && spec.hostIPC;
    if (isOfHost) {
      return `forbidden sysctl: "${sysctl}" not allowed with host ${namespace} enabled`;
    }
  }
  return undefined;
}

/** Undefined if the patterns can be used as `allowedUnsafeSysctls`. */
export function whyBadUnsafeSysctl(patterns: readonly string[]): string | undefined {
  for (const pattern of patterns) {
    const name = normalized(pattern).replace(/\*$/, "");
    if (namespaceOf(name) === undefined) {
      return `the sysctls "${name}" are not known to be namespaced`;
    }
  }
  return undefined;
}

/** `net/ipv4/tcp_rmem` is the same as `net.ipv4.tcp_rmem`. */
function normalized(name: string): string {
  const separator = /[./]/.exec(name)?.[0];
  if (separator !== "/") return name;
  return name.replace(/[./]/g, (one) => (one === "/" ? "." : "/"));
}

function namespaceOf(name: string): "ipc" | "net" | undefined {
  if (IPC.includes(name) || IPC_PREFIXES.some((prefix) => name.startsWith(prefix))) return "ipc";
  return name.startsWith(NET_PREFIX) ? "net" : undefined;
}
