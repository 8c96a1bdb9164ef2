/** Spreads pods over the domains of a topology: zones, hosts, anything that a node label names. */
import type { TopologySpreadConstraint } from "#api/generated/core.v1.ts";
import { matchesLabels } from "#api/meta/label-selector.ts";
import {
  definePlugin,
  FITS,
  type Handle,
  type PluginFactory,
  rejected,
  SKIP,
  unresolvable,
  type Verdict,
} from "#scheduler/plugin.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import type { Snapshot } from "#scheduler/snapshot/snapshot.ts";
import type { TopologyCounter } from "#scheduler/snapshot/topology-counter.ts";
import { DomainCounts } from "./domain-counts.ts";
import { spreadScoring } from "./pod-topology-spread-scores.ts";
import { spreadWakeRules } from "./pod-topology-spread-wakes.ts";
import {
  type Constraint,
  constraintsOf,
  includesNode,
  type SpreadDefaults,
  SYSTEM_DEFAULTS,
  spreadCounter,
} from "./topology-spread-constraints.ts";

const SKEWED = rejected("node(s) didn't match pod topology spread constraints");
const NO_LABEL = unresolvable(
  "node(s) didn't match pod topology spread constraints (missing required label)",
);

export interface PodTopologySpreadArgs {
  readonly defaultConstraints?: readonly TopologySpreadConstraint[];
  readonly defaultingType?: "System" | "List";
}

interface Check {
  readonly constraint: Constraint;
  readonly counter: TopologyCounter;
  readonly counts: DomainCounts;
  /** One if the pod itself counts. */
  readonly self: 0 | 1;
}

export const podTopologySpread: PluginFactory = {
  name: "PodTopologySpread",
  create: (args, handle) => createSpread((args ?? {}) as PodTopologySpreadArgs, handle),
};

function createSpread(args: PodTopologySpreadArgs, handle: Handle) {
  const defaults: SpreadDefaults =
    args.defaultingType === "List"
      ? { constraints: args.defaultConstraints ?? [], isSystem: false }
      : SYSTEM_DEFAULTS;
  const required = (pod: PodInfo) => constraintsOf(pod, "DoNotSchedule", defaults, handle);
  return definePlugin({
    name: "PodTopologySpread",
    preFilter: (pod: PodInfo, snapshot: Snapshot) => {
      const constraints = required(pod);
      if (constraints.length === 0) return SKIP;
      return { skip: false, state: checksOf(constraints, pod, snapshot) };
    },
    filter: check,
    copyState: (checks: readonly Check[]) =>
      checks.map((one) => ({ ...one, counts: one.counts.copy() })),
    podAdded: (checks, pod, added, node) => count(checks, pod, added, node, 1),
    podRemoved: (checks, pod, removed, node) => count(checks, pod, removed, node, -1),
    ...spreadScoring(defaults, handle),
    wakeOn: spreadWakeRules(required),
  });
}

function checksOf(constraints: readonly Constraint[], pod: PodInfo, snapshot: Snapshot): Check[] {
  const keys = constraints.map(({ topologyKey }) => topologyKey);
  return constraints.map((constraint) => {
    const counter = snapshot.counter(spreadCounter(constraint, pod, keys));
    return {
      constraint,
      counter,
      counts: new DomainCounts(constraint.topologyKey, (domain) => counter.podsIn(domain)),
      self: matchesLabels(constraint.selector, pod.labels) ? 1 : 0,
    };
  });
}

function check(checks: readonly Check[], _pod: PodInfo, node: NodeInfo): Verdict {
  for (const { constraint, counter, counts, self } of checks) {
    const domain = node.labels[constraint.topologyKey];
    if (domain === undefined) return NO_LABEL;
    const pods = counts.of(domain);
    const lowest =
      counter.domains.size < constraint.minDomains ? 0 : counter.minimumWith(domain, pods);
    // Without any domain nothing is skewed.
    if (lowest !== undefined && pods + self - lowest > constraint.maxSkew) return SKEWED;
  }
  return FITS;
}

function count(
  checks: readonly Check[],
  pod: PodInfo,
  other: PodInfo,
  node: NodeInfo,
  change: 1 | -1,
): void {
  if (other.namespace !== pod.namespace || other.isTerminating) return;
  for (const { constraint, counts } of checks) {
    if (!matchesLabels(constraint.selector, other.labels)) continue;
    if (checks.some((one) => node.labels[one.constraint.topologyKey] === undefined)) return;
    if (!includesNode(constraint, pod, node)) continue;
    counts.add(node.labels[constraint.topologyKey] ?? "", change);
  }
}
