/** Which routes a node needs to the pods of other nodes. Pure. */
import type { Node, NodeSpec, NodeStatus } from "#api/generated/core.v1.ts";
import type { PodNetworkMode } from "./pod-network-mode.ts";

/** Another node with its pods. */
export interface Peer {
  readonly name: string;
  /** InternalIPs, at most one of each family. */
  readonly addresses: readonly string[];
  readonly podCidrs: readonly string[];
}

/** A route to a node that is on the same link. */
export interface DirectRoute {
  readonly type: "direct";
  readonly cidr: string;
  readonly via: string;
}

/** A route through the tunnel: `via` is the other end inside the tunnel, `endpoint` the node. */
export interface TunnelRoute {
  readonly type: "tunnel";
  readonly cidr: string;
  readonly via: string;
  readonly endpoint: string;
  /** The first range of the node, from which the hardware address of its end follows. */
  readonly firstCidr: string;
}

/** Packets to pods that no node has end here, so that they never leave the machine. */
export interface UnreachableRoute {
  readonly type: "unreachable";
  readonly cidr: string;
}

/** What is read of a Node. */
type PlacedNode = Pick<Node, "metadata"> & {
  readonly spec?: Pick<NodeSpec, "podCIDR" | "podCIDRs">;
  readonly status?: Pick<NodeStatus, "addresses">;
};

export type PodRoute = DirectRoute | TunnelRoute | UnreachableRoute;

export interface RouteQuestion {
  readonly mode: PodNetworkMode;
  readonly peers: readonly Peer[];
  /** Ranges that never leave the machine unless a more specific route says so. */
  readonly ownRanges: readonly string[];
  isOnLink(address: string): boolean;
}

export function decidePodRoutes({
  mode,
  peers,
  ownRanges,
  isOnLink,
}: RouteQuestion): readonly PodRoute[] {
  if (mode === "none") return [];
  const routes: PodRoute[] = ownRanges.map((cidr) => ({ type: "unreachable", cidr }));
  for (const { addresses, podCidrs } of peers) {
    for (const cidr of podCidrs) {
      const direct = addresses.find((address) => isIpv6(address) === isIpv6(cidr));
      if (mode === "host-gw" && direct !== undefined && isOnLink(direct)) {
        routes.push({ type: "direct", cidr, via: direct });
        continue;
      }
      const [endpoint] = addresses;
      const [firstCidr] = podCidrs;
      if (endpoint === undefined || firstCidr === undefined) continue;
      routes.push({ type: "tunnel", cidr, via: networkAddress(cidr), endpoint, firstCidr });
    }
  }
  return routes;
}

/** Undefined for a node that has no address or no pods' addresses yet. */
export function peerOf({ metadata, spec, status }: PlacedNode): Peer | undefined {
  const addresses = (status?.addresses ?? [])
    .filter(({ type }) => type === "InternalIP")
    .map(({ address }) => address);
  const podCidrs = spec?.podCIDRs ?? (spec?.podCIDR ? [spec.podCIDR] : []);
  if (addresses.length === 0 || podCidrs.length === 0) return undefined;
  return { name: metadata.name ?? "", addresses, podCidrs };
}

export function isIpv6(addressOrCidr: string): boolean {
  return addressOrCidr.includes(":");
}

/** The first address of a node's range, which no pod gets: `10.244.1.0` of `10.244.1.0/24`. */
export function networkAddress(cidr: string): string {
  return cidr.slice(0, cidr.indexOf("/"));
}
