/** The two priority classes of the system's own pods. */
import type { PriorityClass } from "#api/generated/scheduling.v1.ts";

const CLASSES = [
  {
    name: "system-node-critical",
    value: 2_000_001_000,
    description: "Used for system critical pods that must not be moved from their current node.",
  },
  {
    name: "system-cluster-critical",
    value: 2_000_000_000,
    description:
      "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
  },
];

export function systemPriorityClasses(): PriorityClass[] {
  return CLASSES.map(({ name, value, description }) => ({
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    metadata: { name, generation: 1 },
    value,
    description,
    preemptionPolicy: "PreemptLowerPriority",
  }));
}
