/** What the cloud controllers read of nodes and write to them. */
import type { Node, NodeAddress, Taint } from "#api/generated/core.v1.ts";
import { formatIp, parseIp } from "#api/validation/ip.ts";

/** A kubelet with an external cloud provider registers its node with this taint. */
export const UNINITIALIZED_TAINT = "node.cloudprovider.kubernetes.io/uninitialized";
export const SHUTDOWN_TAINT = "node.cloudprovider.kubernetes.io/shutdown";
/** The addresses of the kubelet's `--node-ip`. */
const PROVIDED_IP = "alpha.kubernetes.io/provided-node-ip";

export function hasTaint({ spec }: Node, key: string, effect?: Taint["effect"]): boolean {
  const taints = spec.taints ?? [];
  return taints.some((t) => t.key === key && (effect === undefined || t.effect === effect));
}

/** Without an effect, of all effects. */
export function withoutTaint(
  { spec }: Node,
  key: string,
  effect?: Taint["effect"],
): readonly Taint[] {
  return (spec.taints ?? []).filter(
    (taint) => taint.key !== key || (effect !== undefined && taint.effect !== effect),
  );
}

/** Unknown for a node that has not reported yet. */
export function readyStatusOf({ status }: Node): string {
  return status?.conditions?.find(({ type }) => type === "Ready")?.status ?? "Unknown";
}

/**
 * The addresses that a node gets from those that the cloud names: the node's own host name is kept if
 * the cloud has none, and an address that the kubelet was given is the only one of its type.
 */
export function addressesFrom(node: Node, cloud: readonly NodeAddress[]): readonly NodeAddress[] {
  const hasHostname = cloud.some(({ type }) => type === "Hostname");
  const own = node.status?.addresses?.filter(({ type }) => type === "Hostname") ?? [];
  const all = hasHostname ? cloud : [...cloud, ...own];
  const provided = node.metadata.annotations?.[PROVIDED_IP];
  return provided === undefined ? all : preferring(provided, all);
}

export function sameAddresses(a: readonly NodeAddress[], b: readonly NodeAddress[]): boolean {
  const texts = (list: readonly NodeAddress[]): string =>
    list.map(({ type, address }) => `${type} ${address}`).join("\n");
  return texts(a) === texts(b);
}

function preferring(provided: string, all: readonly NodeAddress[]): readonly NodeAddress[] {
  const preferred = provided.split(",").flatMap((text) => {
    const ip = canonical(text.trim());
    if (ip === undefined) {
      throw new Error(`failed to parse node IP "${provided}": "${text}" is not an IP address`);
    }
    const matching = all.filter(({ address }) => canonical(address) === ip);
    if (matching.length > 0) return matching;
    throw new Error(`failed to get node address from cloud provider that matches ip: ${ip}`);
  });
  const types = new Set(preferred.map(({ type }) => type));
  return [...preferred, ...all.filter(({ type }) => !types.has(type))];
}

function canonical(text: string): string | undefined {
  const ip = parseIp(text);
  return ip === undefined ? undefined : formatIp(ip);
}
