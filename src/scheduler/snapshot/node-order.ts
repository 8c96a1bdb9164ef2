/**
 * The order in which nodes are tried: one of each zone in turn, so that the first nodes that fit
 * are spread over the zones.
 */
import type { NodeInfo } from "./node-info.ts";

export function inZoneOrder(nodes: Iterable<NodeInfo>): NodeInfo[] {
  const zones = new Map<string, NodeInfo[]>();
  for (const node of nodes) {
    const zone = zoneOf(node);
    const members = zones.get(zone);
    if (members === undefined) zones.set(zone, [node]);
    else members.push(node);
  }
  if (zones.size <= 1) return [...zones.values()].flat();
  const ordered: NodeInfo[] = [];
  const lists = [...zones.values()];
  for (let round = 0; lists.some((list) => round < list.length); round++) {
    for (const list of lists) {
      const node = list[round];
      if (node !== undefined) ordered.push(node);
    }
  }
  return ordered;
}

function zoneOf({ labels }: NodeInfo): string {
  const region = labels["topology.kubernetes.io/region"] ?? "";
  const zone = labels["topology.kubernetes.io/zone"] ?? "";
  return `${region}:${zone}`;
}
