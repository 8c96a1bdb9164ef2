/** What in a change of a node or a pod matters to scheduling. */
import { isDeepStrictEqual } from "node:util";
import type { Node, Pod } from "#api/generated/core.v1.ts";
import { amountOf, podResources } from "#scheduler/snapshot/resources.ts";

export type NodeEvent =
  | "node-allocatable-changed"
  | "node-labels-changed"
  | "node-taints-changed"
  | "node-conditions-changed"
  | "node-annotations-changed"
  | "node-features-changed";

export function nodeEvents(next: Node, old: Node): NodeEvent[] {
  const events: NodeEvent[] = [];
  const isSame = isDeepStrictEqual;
  if (
    next.spec?.unschedulable !== old.spec?.unschedulable ||
    !isSame(next.spec?.taints, old.spec?.taints)
  ) {
    events.push("node-taints-changed");
  }
  if (!isSame(next.status?.allocatable, old.status?.allocatable)) {
    events.push("node-allocatable-changed");
  }
  if (!isSame(next.metadata.labels, old.metadata.labels)) events.push("node-labels-changed");
  if (!isSame(conditionsOf(next), conditionsOf(old))) events.push("node-conditions-changed");
  if (!isSame(next.metadata.annotations, old.metadata.annotations)) {
    events.push("node-annotations-changed");
  }
  if (!isSame(next.status?.declaredFeatures, old.status?.declaredFeatures)) {
    events.push("node-features-changed");
  }
  return events;
}

export type PodEvent =
  | "pod-labels-changed"
  | "pod-scaled-down"
  | "pod-claims-changed"
  | "own-tolerations-changed"
  | "own-gates-eliminated";

export function podEvents(next: Pod, old: Pod): PodEvent[] {
  const events: PodEvent[] = [];
  const isSame = isDeepStrictEqual;
  if (!isSame(next.metadata.labels, old.metadata.labels)) events.push("pod-labels-changed");
  if (isScaledDown(next, old)) events.push("pod-scaled-down");
  if (!isSame(next.status?.resourceClaimStatuses, old.status?.resourceClaimStatuses)) {
    events.push("pod-claims-changed");
  }
  if (!isSame(next.spec.tolerations, old.spec.tolerations)) events.push("own-tolerations-changed");
  const gates = (pod: Pod): number => (pod.spec.schedulingGates ?? []).length;
  if (gates(next) === 0 && gates(old) > 0) events.push("own-gates-eliminated");
  return events;
}

function isScaledDown(next: Pod, old: Pod): boolean {
  if (next.spec === old.spec && next.status === old.status) return false;
  const [after, before] = [
    podResources(next, { useStatus: true }),
    podResources(old, { useStatus: true }),
  ];
  return ["cpu", "memory", "ephemeral-storage", ...(before.scalars?.keys() ?? [])].some(
    (name) => amountOf(after, name) < amountOf(before, name),
  );
}

function conditionsOf({ status }: Node): readonly (readonly [string, string])[] {
  return (status?.conditions ?? []).map(({ type, status }) => [type, status] as const);
}
