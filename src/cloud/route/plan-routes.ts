/** Which routes have to be made and removed so that each node's pod ranges lead to it. Pure. */
import type { Node, NodeAddress } from "#api/generated/core.v1.ts";
import { type Cidr, parseCidr } from "#api/validation/ip.ts";
import type { Route } from "../provider.ts";

export interface RoutePlan {
  readonly remove: readonly Route[];
  readonly create: readonly PlannedRoute[];
}

export interface PlannedRoute {
  readonly node: Node;
  readonly route: Route;
}

export function planRoutes(
  nodes: readonly Node[],
  routes: readonly Route[],
  clusterCidrs: readonly string[],
): RoutePlan {
  const ranges = clusterCidrs.flatMap((text) => parseCidr(text) ?? []);
  const wanted = new Map(nodes.flatMap((node) => wantedOf(node).map((w) => [idOf(w.route), w])));
  const kept = new Set<string>();
  const stale: Route[] = [];
  for (const route of routes) {
    const want = wanted.get(idOf(route));
    const fits = want !== undefined && sameTarget(route, want.node.status?.addresses ?? []);
    if (fits && !(route.blackhole ?? false)) kept.add(idOf(route));
    else if (isOurs(route, ranges)) stale.push(route);
  }
  return {
    remove: stale,
    create: [...wanted].filter(([id]) => !kept.has(id)).map(([, planned]) => planned),
  };
}

function wantedOf(node: Node): readonly PlannedRoute[] {
  return (node.spec.podCIDRs ?? []).map((destinationCidr) => ({
    node,
    route: {
      name: "",
      targetNode: node.metadata.name ?? "",
      destinationCidr,
      targetNodeAddresses: node.status?.addresses ?? [],
    },
  }));
}

function idOf({ targetNode, destinationCidr }: Route): string {
  return `${targetNode} ${destinationCidr}`;
}

/** Routes of providers that do not keep the addresses fit any. */
function sameTarget({ targetNodeAddresses }: Route, addresses: readonly NodeAddress[]): boolean {
  if (targetNodeAddresses === undefined) return true;
  const text = ({ type, address }: NodeAddress): string => `${type} ${address}`;
  const known = new Set(addresses.map(text));
  return (
    targetNodeAddresses.length === addresses.length &&
    targetNodeAddresses.every((address) => known.has(text(address)))
  );
}

/** Routes that neither begin nor end in the cluster's ranges, as a default route, belong to others. */
function isOurs({ destinationCidr }: Route, ranges: readonly Cidr[]): boolean {
  const cidr = parseCidr(destinationCidr);
  if (cidr === undefined) return false;
  const ends = [withHostBits(cidr, 0x00), withHostBits(cidr, 0xff)];
  return ranges.some((range) => ends.some((address) => contains(range, address)));
}

/** The first address of a range, or with 0xff its last. */
function withHostBits({ address, prefixBits }: Cidr, fill: 0x00 | 0xff): readonly number[] {
  return [...address.bytes].map((byte, i) => {
    const hostBits = Math.min(Math.max(8 * (i + 1) - prefixBits, 0), 8);
    const mask = (1 << hostBits) - 1;
    return (byte & ~mask) | (fill & mask);
  });
}

function contains({ address, prefixBits }: Cidr, other: readonly number[]): boolean {
  if (address.bytes.length !== other.length) return false;
  for (let i = 0; i < prefixBits; i++) {
    const mask = 0x80 >> (i % 8);
    if (((address.bytes[i >> 3] ?? 0) & mask) !== ((other[i >> 3] ?? 0) & mask)) return false;
  }
  return true;
}
