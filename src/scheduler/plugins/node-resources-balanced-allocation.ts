/** Prefers nodes on which the pod leaves the shares of the resources in use close to each other. */
import { definePlugin, type PluginFactory, SKIP } from "#scheduler/plugin.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import { amountOf } from "#scheduler/snapshot/resources.ts";
import type { DeviceStateOf } from "./dynamic-resources/device-state.ts";
import { dependsOnNodeOnly, isScored, type NodeAmounts, nodeAmounts } from "./node-amounts.ts";
import { SCORE_MAX } from "./normalize-scores.ts";
import type { ResourceSpec } from "./resource-scoring.ts";

export interface BalancedAllocationArgs {
  readonly resources?: readonly ResourceSpec[];
}

const DEFAULT_RESOURCES = ["cpu", "memory"];

export const nodeResourcesBalancedAllocation = (devices: DeviceStateOf): PluginFactory => ({
  name: "NodeResourcesBalancedAllocation",
  create: (args, handle) => {
    const { resources } = (args ?? {}) as BalancedAllocationArgs;
    const names = resources?.map(({ name }) => name) ?? DEFAULT_RESOURCES;
    const amounts = nodeAmounts(
      (name, node) => devices(handle).totalOf(name, node),
      (name, node) => amountOf(node.requested, name),
    );
    return definePlugin<undefined, undefined>({
      name: "NodeResourcesBalancedAllocation",
      scoresByNodeOnly: dependsOnNodeOnly(names),
      preScore: (pod) =>
        names.every((name) => amountOf(pod.requests, name) === 0)
          ? SKIP
          : { skip: false, state: undefined },
      score: (_state, pod, node) => balance(pod, node, names, amounts),
    });
  },
});

function balance(
  pod: PodInfo,
  node: NodeInfo,
  names: readonly string[],
  amounts: NodeAmounts,
): number {
  const before: number[] = [];
  const after: number[] = [];
  for (const name of names) {
    const asked = amountOf(pod.requests, name);
    if (!isScored(name, asked)) continue;
    const capacity = amounts.capacity(name, node);
    if (capacity === 0) continue;
    const used = amounts.used(name, node);
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
