/** How nodes are scored by the resources that are left: the strategies of NodeResourcesFit. */
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import { amountOf, type Resources } from "#scheduler/snapshot/resources.ts";
import { type DevicesOf, isScored, type NodeAmounts, nodeAmounts } from "./node-amounts.ts";
import { SCORE_MAX } from "./normalize-scores.ts";

export interface ResourceSpec {
  readonly name: string;
  readonly weight: number;
}

export interface ShapePoint {
  readonly utilization: number;
  readonly score: number;
}

export interface ScoringStrategy {
  readonly type: "LeastAllocated" | "MostAllocated" | "RequestedToCapacityRatio";
  readonly resources: readonly ResourceSpec[];
  readonly requestedToCapacityRatio?: { readonly shape: readonly ShapePoint[] };
}

/** Of a node for a pod with these requests; see `scoredResources`. */
export type ResourceScorer = (requests: Resources, node: NodeInfo) => number;

export function createScorer(strategy: ScoringStrategy, devicesOf: DevicesOf): ResourceScorer {
  const { resources } = strategy;
  const amounts = nodeAmounts(devicesOf, usedOn);
  switch (strategy.type) {
    case "LeastAllocated":
      return weighted(resources, amounts, leastRequested);
    case "MostAllocated":
      return weighted(resources, amounts, mostRequested);
    case "RequestedToCapacityRatio":
      return ratioScorer(resources, amounts, strategy.requestedToCapacityRatio?.shape ?? []);
  }
}

/** What scoring counts as allocated on the node. */
function usedOn(resource: string, node: NodeInfo): number {
  switch (resource) {
    case "cpu":
      return node.nonZeroMilliCpu;
    case "memory":
      return node.nonZeroMemory;
    default:
      return amountOf(node.requested, resource);
  }
}

function weighted(
  resources: readonly ResourceSpec[],
  amounts: NodeAmounts,
  scoreOf: (requested: number, capacity: number) => number,
): ResourceScorer {
  return (requests, node) => {
    let sum = 0;
    let weights = 0;
    for (const { name, weight } of resources) {
      const asked = amountOf(requests, name);
      if (!isScored(name, asked)) continue;
      const capacity = amounts.capacity(name, node);
      if (capacity === 0) continue;
      sum += scoreOf(amounts.used(name, node) + asked, capacity) * weight;
      weights += weight;
    }
    return weights === 0 ? 0 : Math.trunc(sum / weights);
  };
}

function leastRequested(requested: number, capacity: number): number {
  return requested > capacity ? 0 : Math.trunc(((capacity - requested) * SCORE_MAX) / capacity);
}

function mostRequested(requested: number, capacity: number): number {
  return Math.trunc((Math.min(requested, capacity) * SCORE_MAX) / capacity);
}

function ratioScorer(
  resources: readonly ResourceSpec[],
  amounts: NodeAmounts,
  shape: readonly ShapePoint[],
): ResourceScorer {
  // Scores of the configuration go to ten, those of nodes to a hundred.
  const points = shape.map(({ utilization, score }) => ({ utilization, score: score * 10 }));
  return (requests, node) => {
    let sum = 0;
    let weights = 0;
    for (const { name, weight } of resources) {
      const asked = amountOf(requests, name);
      if (!isScored(name, asked)) continue;
      const capacity = amounts.capacity(name, node);
      if (capacity === 0) continue;
      const requested = amounts.used(name, node) + asked;
      const utilization = requested > capacity ? 100 : Math.trunc((requested * 100) / capacity);
      const score = onBrokenLine(points, utilization);
      if (score <= 0) continue;
      sum += score * weight;
      weights += weight;
    }
    return weights === 0 ? 0 : Math.round(sum / weights);
  };
}

function onBrokenLine(points: readonly ShapePoint[], at: number): number {
  for (const [index, point] of points.entries()) {
    if (at > point.utilization) continue;
    const before = points[index - 1];
    if (before === undefined) return point.score;
    const rise = (point.score - before.score) * (at - before.utilization);
    return before.score + Math.trunc(rise / (point.utilization - before.utilization));
  }
  return points.at(-1)?.score ?? 0;
}
