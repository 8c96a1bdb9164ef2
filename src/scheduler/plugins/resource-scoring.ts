/** How nodes are scored by the resources that are left: the strategies of NodeResourcesFit. */
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import { amountOf, isScalarResource } from "#scheduler/snapshot/resources.ts";
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

export type ResourceScorer = (pod: PodInfo, node: NodeInfo) => number;

export function createScorer(strategy: ScoringStrategy): ResourceScorer {
  const { resources } = strategy;
  switch (strategy.type) {
    case "LeastAllocated":
      return weighted(resources, leastRequested);
    case "MostAllocated":
      return weighted(resources, mostRequested);
    case "RequestedToCapacityRatio":
      return ratioScorer(resources, strategy.requestedToCapacityRatio?.shape ?? []);
  }
}

/** What scoring counts as allocated on the node, and what the pod adds. */
function usageOf(
  pod: PodInfo,
  node: NodeInfo,
  resource: string,
): { readonly capacity: number; readonly used: number; readonly asked: number } {
  switch (resource) {
    case "cpu":
      return {
        capacity: node.allocatable.milliCpu,
        used: node.nonZeroMilliCpu,
        asked: pod.nonZeroMilliCpu,
      };
    case "memory":
      return {
        capacity: node.allocatable.memory,
        used: node.nonZeroMemory,
        asked: pod.nonZeroMemory,
      };
    default:
      return {
        capacity: amountOf(node.allocatable, resource),
        used: amountOf(node.requested, resource),
        asked: amountOf(pod.requests, resource),
      };
  }
}

function weighted(
  resources: readonly ResourceSpec[],
  scoreOf: (requested: number, capacity: number) => number,
): ResourceScorer {
  return (pod, node) => {
    let sum = 0;
    let weights = 0;
    for (const { name, weight } of resources) {
      const { capacity, used, asked } = usageOf(pod, node, name);
      if (capacity === 0 || (asked === 0 && isScalarResource(name))) continue;
      sum += scoreOf(used + asked, capacity) * weight;
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
  shape: readonly ShapePoint[],
): ResourceScorer {
  // Scores of the configuration go to ten, those of nodes to a hundred.
  const points = shape.map(({ utilization, score }) => ({ utilization, score: score * 10 }));
  return (pod, node) => {
    let sum = 0;
    let weights = 0;
    for (const { name, weight } of resources) {
      const { capacity, used, asked } = usageOf(pod, node, name);
      if (capacity === 0 || (asked === 0 && isScalarResource(name))) continue;
      const requested = used + asked;
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
