/** What is measured of nodes: how many of each zone are well, and who was driven off them. */

import type { Node, Taint } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import type { Caches, Measure } from "#runtime/controller.ts";
import { exponential, objectsOf, tallied, writesOf } from "./common.ts";

const EVICTION_SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240];

export const measureNodeHealth: Measure<unknown> = (metrics) => {
  const seconds = metrics.histogram({
    name: "node_collector_update_node_health_duration_seconds",
    help: "How long it took to see to the health of a node.",
    buckets: exponential(0.001, 4, 8),
  })();
  return ({ seconds: took }) => seconds.observe(took);
};

interface Zones {
  zoneOf(node: Node): string;
  isReady(node: Node): boolean;
}

/** Of the zones together, from which nodes are driven one after the other. */
export function measureZones({
  zoneOf,
  isReady,
}: Zones): Measure<{ readonly nodes: readonly Node[] }> {
  return (metrics, caches) => {
    const labels = ["zone"];
    const sizes = () => tallied(nodesOf(caches).map((node) => [zoneOf(node)]));
    const unhealthy = () =>
      sizes().map(({ labels: [zone = ""] }) => ({
        labels: [zone],
        value: nodesOf(caches).filter((node) => zoneOf(node) === zone && !isReady(node)).length,
      }));
    metrics.gaugesOf({ name: "node_collector_zone_size", help: "Nodes of a zone.", labels }, sizes);
    metrics.gaugesOf(
      {
        name: "node_collector_unhealthy_nodes_in_zone",
        help: "Nodes of a zone that are not ready.",
        labels,
      },
      unhealthy,
    );
    metrics.gaugesOf(
      { name: "node_collector_zone_health", help: "Percentage of nodes that are ready.", labels },
      () => {
        const lost = unhealthy();
        return sizes().map(({ labels: zone, value }, i) => ({
          labels: zone,
          value: (100 * (value - (lost[i]?.value ?? 0))) / value,
        }));
      },
    );
    const evictions = metrics.counter({
      name: "node_collector_evictions_total",
      help: "Nodes that pods were driven off.",
      labels,
    });
    const seconds = metrics.histogram({
      name: "node_collector_update_all_nodes_health_duration_seconds",
      help: "How long it took to see to all zones.",
      buckets: exponential(0.01, 4, 8),
    })();
    return ({ state: { nodes }, outcome, refused, seconds: took }) => {
      seconds.observe(took);
      for (const zone of new Set(nodes.map(zoneOf))) evictions(zone);
      const updated = objectsOf(outcome, "update", nodeKind);
      if (refused !== undefined || updated.length === 0) return;
      const before = new Map(nodes.map((node) => [node.metadata.name, drives(node)]));
      for (const node of updated)
        if (drives(node) && before.get(node.metadata.name) === false)
          evictions(zoneOf(node)).add(1);
    };
  };
}

export const measureEvictions: Measure<{
  readonly taints: readonly Taint[] | undefined;
  readonly scheduled: { readonly dueMs: number } | undefined;
}> = (metrics) => {
  const deletions = metrics.counter({
    name: "taint_eviction_controller_pod_deletions_total",
    help: "Pods that were deleted because of taints.",
  })();
  const delay = metrics.histogram({
    name: "taint_eviction_controller_pod_deletion_duration_seconds",
    help: "From when a pod had to go until it was deleted.",
    buckets: EVICTION_SECONDS,
  })();
  return ({ state: { scheduled }, outcome, refused, nowMs, seconds }) => {
    const isGone = writesOf(outcome).some(
      ({ op, kind }) => op === "delete" && kind.names.kind === podKind.names.kind,
    );
    if (!isGone || refused !== undefined) return;
    deletions.add(1);
    delay.observe(Math.max(0, nowMs - (scheduled?.dueMs ?? nowMs)) / 1000 + seconds);
  };
};

function nodesOf(caches: Caches): readonly Node[] {
  return [...caches(nodeKind).list()];
}

function drives({ spec }: Node): boolean {
  return (spec.taints ?? []).some(({ effect }) => effect === "NoExecute");
}
