/** Prefers nodes on which the pod leaves the shares of the resources in use close to each other. */
import { definePlugin, type PluginFactory, SKIP } from "#scheduler/plugin.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import { amountOf, isScalarResource } from "#scheduler/snapshot/resources.ts";
import { SCORE_MAX } from "./normalize-scores.ts";
import type { ResourceSpec } from "./resource-scoring.ts";

export interface BalancedAllocationArgs {
  readonly resources?: readonly ResourceSpec[];
}

const DEFAULT_RESOURCES = ["cpu", "memory"];

export const nodeResourcesBalancedAllocation: PluginFactory = {
  name: "NodeResourcesBalancedAllocation",
  create: (args) => {
    const { resources } = (args ?? {}) as BalancedAllocationArgs;
    const names = resources?.map(({ name }) => name) ?? DEFAULT_RESOURCES;
    return definePlugin<undefined, undefined>({
      name: "NodeResourcesBalancedAllocation",
      scoresByNodeOnly: true,
      preScore: (pod) =>
        names.every((name) => amountOf(pod.requests, name) === 0)
          ? SKIP
          : { skip: false, state: undefined },
      score: (_state, pod, node) => balance(pod, node, names),
    });
  },
};

function balance(pod: PodInfo, node: NodeInfo, names: readonly string[]): number {
  const before: number[] = [];
  const after: number[] = [];
  for (const name of names) {
    const asked = amountOf(pod.requests, name);
    const capacity = amountOf(node.allocatable, name);
    if (capacity === 0 || (asked === 0 && isScalarResource(name))) continue;
    const used = amountOf(node.requested, name);
    before.push(Math.min(1, used / capacity));
    after.push(Math.min(1, (used + asked) / capacity));
  }
  const half = SCORE_MAX / 2;
  return half + Math.trunc((half + evenness(after) - evenness(before)) / 2);
}

function evenness(fractions: readonly number[]): number {
  return Math.trunc((1 - deviation(fractions)) * SCORE_MAX);
}

function deviation(fractions: readonly number[]): number {
  if (fractions.length < 2) return 0;
  if (fractions.length === 2) return Math.abs((fractions[0]! - fractions[1]!) / 2);
  const mean = fractions.reduce((sum, one) => sum + one, 0) / fractions.length;
  const squares = fractions.reduce((sum, one) => sum + (one - mean) * (one - mean), 0);
  return Math.sqrt(squares / fractions.length);
}
