/** Which nodes the machine sends packets for the address of a load balancer to. Pure. */
import type { Node, Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import { shortHash } from "#lib/text/short-hash.ts";
import { isIpv6 } from "./decide-pod-routes.ts";

/**
 * InternalIPs of the address's family, sorted. With `externalTrafficPolicy: Local` only nodes that have
 * ready endpoints, or, while there are none, endpoints that are terminating and still serving: a node
 * drops packets that it has no endpoint for. With session affinity one of them, since each node has its own
 * memory of clients: the same as long as that node may answer.
 */
export function decideGateways(
  address: string,
  service: Service,
  nodes: readonly Node[],
  slices: Iterable<EndpointSlice>,
): readonly string[] {
  const mayAnswer = service.spec.externalTrafficPolicy === "Local" ? nodesOf(slices) : undefined;
  const gateways = nodes.flatMap(({ metadata, status }) => {
    if (mayAnswer?.has(metadata.name ?? "") === false) return [];
    const own = (status?.addresses ?? []).find(
      ({ type, address: ip }) => type === "InternalIP" && isIpv6(ip) === isIpv6(address),
    );
    return own === undefined ? [] : [own.address];
  });
  if (service.spec.sessionAffinity !== "ClientIP") return gateways.sort();
  const rank = (gateway: string): string => shortHash(`${address} ${gateway}`, 16);
  return gateways.sort((a, b) => (rank(a) < rank(b) ? -1 : 1)).slice(0, 1);
}

function nodesOf(slices: Iterable<EndpointSlice>): ReadonlySet<string> {
  const ready = new Set<string>();
  const draining = new Set<string>();
  for (const { endpoints } of slices) {
    for (const { nodeName, conditions } of endpoints ?? []) {
      if (nodeName === undefined) continue;
      if (conditions?.ready !== false) ready.add(nodeName);
      else if (conditions.serving !== false && conditions.terminating) draining.add(nodeName);
    }
  }
  return ready.size > 0 ? ready : draining;
}
