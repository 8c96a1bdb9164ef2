/** Prefers nodes in domains with fewer pods of the constraint, for ScheduleAnyway constraints. */
import { type Handle, SKIP } from "#scheduler/plugin.ts";
import { type LabelValues, NO_VALUE } from "#scheduler/snapshot/label-values.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import type { Snapshot } from "#scheduler/snapshot/snapshot.ts";
import type { TopologyCounter } from "#scheduler/snapshot/topology-counter.ts";
import { SCORE_MAX } from "./normalize-scores.ts";
import {
  type Constraint,
  constraintsOf,
  type SpreadDefaults,
  spreadCounter,
} from "./topology-spread-constraints.ts";

const HOSTNAME = "kubernetes.io/hostname";

interface Part {
  readonly topologyKey: string;
  readonly isHost: boolean;
  /** What every node with the key scores, however many pods its domain has. */
  readonly base: number;
  readonly counter: TopologyCounter;
  /** Grows with the number of domains, so that constraints with few domains do not outweigh. */
  readonly weight: number;
  /** The domain of each node. */
  readonly domains: LabelValues;
}

export interface SpreadScoreState {
  readonly parts: readonly Part[];
  /** Nodes without one of these labels are ignored. */
  readonly neededKeys: readonly string[];
}

export function spreadScoring(defaults: SpreadDefaults, handle: Pick<Handle, "objects">) {
  return {
    preScore: (pod: PodInfo, nodes: readonly NodeInfo[], snapshot: Snapshot) => {
      const constraints = constraintsOf(pod, "ScheduleAnyway", defaults, handle);
      if (constraints.length === 0) return SKIP;
      const needsAllKeys =
        (pod.pod.spec.topologySpreadConstraints ?? []).length > 0 || !defaults.isSystem;
      const keys = needsAllKeys ? constraints.map(({ topologyKey }) => topologyKey) : [];
      const counted = keys.length === 0 ? nodes : nodes.filter((node) => !isIgnored(node, keys));
      const parts = constraints.map((constraint) => ({
        topologyKey: constraint.topologyKey,
        isHost: constraint.topologyKey === HOSTNAME,
        base: constraint.maxSkew - 1,
        counter: snapshot.counter(spreadCounter(constraint, pod, keys)),
        weight: Math.log(domainCount(constraint, counted, snapshot) + 2),
        domains: snapshot.valuesOfLabel(constraint.topologyKey),
      }));
      return { skip: false as const, state: { parts, neededKeys: keys } };
    },
    score: ({ parts, neededKeys }: SpreadScoreState, _pod: PodInfo, node: NodeInfo): number => {
      if (isIgnored(node, neededKeys)) return 0;
      let score = 0;
      for (const { topologyKey, isHost, base, counter, weight } of parts) {
        const domain = node.labels[topologyKey];
        if (domain === undefined) continue;
        const pods = isHost ? counter.podsOn(node) : counter.podsIn(domain);
        score += pods * weight + base;
      }
      return Math.round(score);
    },
    scoreNodes: (
      { parts, neededKeys }: SpreadScoreState,
      _pod: PodInfo,
      nodes: readonly NodeInfo[],
    ): number[] => {
      const sums = new Float64Array(nodes.length);
      for (const part of parts) addPart(part, nodes, sums);
      const scores = new Array<number>(nodes.length);
      for (let i = 0; i < scores.length; i++) {
        scores[i] = isIgnored(nodes[i]!, neededKeys) ? 0 : Math.round(sums[i]!);
      }
      return scores;
    },
    normalize: (
      { neededKeys }: SpreadScoreState,
      scores: number[],
      nodes: readonly NodeInfo[],
    ): void => {
      let lowest = Number.POSITIVE_INFINITY;
      let highest = 0;
      for (let index = 0; index < scores.length; index++) {
        if (isIgnored(nodes[index]!, neededKeys)) continue;
        lowest = Math.min(lowest, scores[index]!);
        highest = Math.max(highest, scores[index]!);
      }
      for (let index = 0; index < scores.length; index++) {
        if (isIgnored(nodes[index]!, neededKeys)) scores[index] = 0;
        else if (highest === 0) scores[index] = SCORE_MAX;
        else
          scores[index] = Math.trunc((SCORE_MAX * (highest + lowest - scores[index]!)) / highest);
      }
    },
  };
}

function addPart(
  { isHost, base, counter, weight, domains }: Part,
  nodes: readonly NodeInfo[],
  sums: Float64Array,
): void {
  const { byPlace, values } = domains;
  if (isHost) {
    const { podsByPlace } = counter;
    for (let i = 0; i < nodes.length; i++) {
      const { place } = nodes[i]!;
      if (byPlace[place] === NO_VALUE) continue;
      sums[i]! += podsByPlace[place]! * weight + base;
    }
    return;
  }
  const scores = new Float64Array(values.length).fill(Number.NaN);
  for (let i = 0; i < nodes.length; i++) {
    const domain = byPlace[nodes[i]!.place]!;
    if (domain === NO_VALUE) continue;
    let score = scores[domain]!;
    if (Number.isNaN(score)) {
      score = counter.podsIn(values[domain]!) * weight + base;
      scores[domain] = score;
    }
    sums[i]! += score;
  }
}

function isIgnored({ labels }: NodeInfo, neededKeys: readonly string[]): boolean {
  if (neededKeys.length === 0) return false;
  for (const key of neededKeys) if (labels[key] === undefined) return true;
  return false;
}

function domainCount(
  { topologyKey }: Constraint,
  nodes: readonly NodeInfo[],
  snapshot: Snapshot,
): number {
  if (topologyKey === HOSTNAME) return nodes.length;
  const most = snapshot.valuesOfLabel(topologyKey).count;
  const domains = new Set<string>();
  for (const { labels } of nodes) {
    domains.add(labels[topologyKey] ?? "");
    if (domains.size === most) break;
  }
  return domains.size;
}
