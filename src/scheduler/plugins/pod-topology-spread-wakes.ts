/** Which changes may let a pod fit that its topology spread constraints kept from every node. */
import type { Node, Pod } from "#api/generated/core.v1.ts";
import { matchesLabels } from "#api/meta/label-selector.ts";
import type { AnyWakeRule } from "#scheduler/plugin.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import type { Constraint } from "./topology-spread-constraints.ts";

type Required = (pod: PodInfo) => readonly Constraint[];

export function spreadWakeRules(required: Required): readonly AnyWakeRule[] {
  const isCounted = (pod: PodInfo, { metadata }: Pod): boolean =>
    metadata.namespace === pod.namespace &&
    required(pod).some(({ selector }) => matchesLabels(selector, metadata.labels));
  const hasKeys = (pod: PodInfo, { metadata }: Node): boolean =>
    required(pod).every(({ topologyKey }) => metadata.labels?.[topologyKey] !== undefined);
  return [
    { event: "pod-added", wakes: isCounted },
    { event: "pod-deleted", wakes: isCounted },
    {
      event: "pod-labels-changed",
      wakes: (pod, next, old) =>
        isCounted(pod, next) !== (old !== undefined && isCounted(pod, old)),
    },
    { event: "own-labels-changed" },
    { event: "node-added", wakes: hasKeys },
    { event: "node-deleted", wakes: hasKeys },
    {
      event: "node-labels-changed",
      wakes: (pod, next, old) => {
        const isChanged = required(pod).some(
          ({ topologyKey }) =>
            next.metadata.labels?.[topologyKey] !== old?.metadata.labels?.[topologyKey],
        );
        return isChanged && (hasKeys(pod, next) || (old !== undefined && hasKeys(pod, old)));
      },
    },
    {
      event: "node-taints-changed",
      wakes: (pod, next) =>
        required(pod).some(({ honorsTaints }) => honorsTaints) && hasKeys(pod, next),
    },
  ];
}
