/**
 * Pods near to or far from other pods: required terms of the pod, required anti-affinity terms of
 * the pods that run, and preferences of both.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import {
  type AnyWakeRule,
  definePlugin,
  FITS,
  type Handle,
  type PluginFactory,
  rejected,
  SKIP,
  unresolvable,
  type Verdict,
} from "#scheduler/plugin.ts";
import { type AffinityTerm, termSelects } from "#scheduler/snapshot/affinity-terms.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import type { Snapshot } from "#scheduler/snapshot/snapshot.ts";
import { affinityCounter } from "./affinity-counter.ts";
import { DomainCounts } from "./domain-counts.ts";
import { preferenceScores, type TopologyScores } from "./inter-pod-affinity-scores.ts";
import { SCORE_MAX } from "./normalize-scores.ts";

const NO_AFFINITY = unresolvable("node(s) didn't match pod affinity rules");
const ANTI_AFFINITY = rejected("node(s) didn't match pod anti-affinity rules");
const EXISTING_ANTI_AFFINITY = rejected("node(s) didn't satisfy existing pods anti-affinity rules");

export interface InterPodAffinityArgs {
  readonly hardPodAffinityWeight?: number;
  readonly ignorePreferredTermsOfExistingPods?: boolean;
}

const HARD_WEIGHT = 1;

interface State {
  /** For each required affinity term, pods that match all of them. */
  readonly affinity: readonly DomainCounts[];
  /** Pods that match all required affinity terms anywhere, on nodes with a topology key. */
  matching: number;
  readonly matchesItself: boolean;
  readonly antiAffinity: readonly DomainCounts[];
  /** Anti-affinity terms of pods that run and select this pod. */
  readonly existing: readonly ExistingTerm[];
  readonly snapshot: Snapshot;
}

interface ExistingTerm {
  readonly key: string;
  readonly counts: DomainCounts;
}

export const interPodAffinity: PluginFactory = {
  name: "InterPodAffinity",
  create: (args, handle) => createInterPodAffinity((args ?? {}) as InterPodAffinityArgs, handle),
};

function createInterPodAffinity(args: InterPodAffinityArgs, handle: Handle) {
  const hardWeight = args.hardPodAffinityWeight ?? HARD_WEIGHT;
  const ignoresExisting = args.ignorePreferredTermsOfExistingPods === true;
  return definePlugin<State, TopologyScores>({
    name: "InterPodAffinity",
    preFilter: (pod, snapshot) => {
      const state = stateOf(pod, snapshot);
      const isFree =
        state.existing.length + state.affinity.length + state.antiAffinity.length === 0;
      return isFree ? SKIP : { skip: false, state };
    },
    filter: check,
    copyState: (state) => ({
      ...state,
      affinity: state.affinity.map((counts) => counts.copy()),
      antiAffinity: state.antiAffinity.map((counts) => counts.copy()),
      existing: state.existing.map(({ key, counts }) => ({ key, counts: counts.copy() })),
    }),
    podAdded: (state, pod, added, node) => count(state, pod, added, node, 1),
    podRemoved: (state, pod, removed, node) => count(state, pod, removed, node, -1),
    preScore: (pod, _nodes, snapshot) => {
      const scores = preferenceScores(pod, snapshot, { hardWeight, ignoresExisting });
      return scores.size === 0 ? SKIP : { skip: false, state: scores };
    },
    score: (scores, _pod, { labels }) => {
      let sum = 0;
      for (const [topologyKey, byDomain] of scores) {
        const domain = labels[topologyKey];
        if (domain !== undefined) sum += byDomain.get(domain) ?? 0;
      }
      return sum;
    },
    normalize: (_state, scores) => spread(scores),
    wakeOn: wakeRules(handle.snapshot),
  });
}

function stateOf(pod: PodInfo, snapshot: Snapshot): State {
  const { requiredAffinity, requiredAntiAffinity } = pod.terms;
  const ofAll = requiredAffinity.map((term) => {
    const counter = snapshot.counter(affinityCounter(requiredAffinity, term.topologyKey, snapshot));
    return {
      total: counter.total,
      counts: new DomainCounts(term.topologyKey, (d) => counter.podsIn(d)),
    };
  });
  const antiAffinity = requiredAntiAffinity.map((term) => {
    const counter = snapshot.counter(affinityCounter([term], term.topologyKey, snapshot));
    return new DomainCounts(term.topologyKey, (domain) => counter.podsIn(domain));
  });
  const namespaceLabels = snapshot.namespaceLabels(pod.namespace);
  const existing = snapshot.terms
    .selecting(pod, "required-anti-affinity", namespaceLabels)
    .filter(({ podsByDomain }) => podsByDomain.size > 0)
    .map(({ term, podsByDomain }) => ({
      key: `${term.topologyKey}|${term.podsKey}`,
      counts: new DomainCounts(term.topologyKey, (domain) => podsByDomain.get(domain) ?? 0),
    }));
  return {
    affinity: ofAll.map(({ counts }) => counts),
    matching: ofAll.reduce((sum, { total }) => sum + total, 0),
    matchesItself: isSelectedByAll(requiredAffinity, pod, snapshot),
    antiAffinity,
    existing,
    snapshot,
  };
}

function check(state: State, _pod: PodInfo, { labels }: NodeInfo): Verdict {
  if (state.affinity.length > 0 && !isNearAll(state, labels)) return NO_AFFINITY;
  for (const counts of state.antiAffinity) {
    const domain = labels[counts.topologyKey];
    if (domain !== undefined && counts.of(domain) > 0) return ANTI_AFFINITY;
  }
  for (const { counts } of state.existing) {
    const domain = labels[counts.topologyKey];
    if (domain !== undefined && counts.of(domain) > 0) return EXISTING_ANTI_AFFINITY;
  }
  return FITS;
}

function isNearAll(
  { affinity, matching, matchesItself }: State,
  labels: NodeInfo["labels"],
): boolean {
  let isNear = true;
  let changes = 0;
  for (const counts of affinity) {
    const domain = labels[counts.topologyKey];
    if (domain === undefined) return false;
    if (counts.of(domain) <= 0) isNear = false;
    changes += counts.change;
  }
  // The first of a group of pods that want to be together may go anywhere.
  return isNear || (matching + changes === 0 && matchesItself);
}

/** Takes a pod that a trial adds or removes into account. */
function count(state: State, pod: PodInfo, other: PodInfo, node: NodeInfo, change: 1 | -1): void {
  const { snapshot } = state;
  const { requiredAffinity, requiredAntiAffinity } = pod.terms;
  if (requiredAffinity.length > 0 && isSelectedByAll(requiredAffinity, other, snapshot)) {
    for (const counts of state.affinity) addAt(counts, node, change);
  }
  for (const [index, term] of requiredAntiAffinity.entries()) {
    if (isSelectedByAll([term], other, snapshot)) addAt(state.antiAffinity[index]!, node, change);
  }
  for (const term of other.terms.requiredAntiAffinity) {
    if (!isSelectedByAll([term], pod, snapshot)) continue;
    const key = `${term.topologyKey}|${term.podsKey}`;
    const known = state.existing.find((one) => one.key === key);
    if (known !== undefined) addAt(known.counts, node, change);
    else {
      const counts = new DomainCounts(term.topologyKey, () => 0);
      addAt(counts, node, change);
      (state.existing as ExistingTerm[]).push({ key, counts });
    }
  }
}

function addAt(counts: DomainCounts, { labels }: NodeInfo, change: 1 | -1): void {
  const domain = labels[counts.topologyKey];
  if (domain !== undefined) counts.add(domain, change);
}

function isSelectedByAll(
  terms: readonly AffinityTerm[],
  { namespace, labels }: PodInfo,
  snapshot: Snapshot,
): boolean {
  const namespaceLabels = snapshot.namespaceLabels(namespace);
  return terms.length > 0 && terms.every((t) => termSelects(t, namespace, labels, namespaceLabels));
}

/** Scores become 0 for the lowest and 100 for the highest. */
function spread(scores: number[]): void {
  const lowest = scores.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const highest = scores.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const range = highest - lowest;
  for (let i = 0; i < scores.length; i++) {
    scores[i] = range > 0 ? Math.trunc(SCORE_MAX * ((scores[i]! - lowest) / range)) : 0;
  }
}

function wakeRules(snapshot: Snapshot): readonly AnyWakeRule[] {
  const wakes = (pod: PodInfo, next: Pod | undefined, old: Pod | undefined): boolean => {
    const { requiredAffinity, requiredAntiAffinity } = pod.terms;
    const isNear = (other: Pod | undefined): boolean =>
      other !== undefined && isSelectedByAll(requiredAffinity, new PodInfo(other), snapshot);
    const isFar = (other: Pod | undefined): boolean =>
      other !== undefined &&
      (requiredAntiAffinity.some((t) => isSelectedByAll([t], new PodInfo(other), snapshot)) ||
        new PodInfo(other).terms.requiredAntiAffinity.some((t) =>
          isSelectedByAll([t], pod, snapshot),
        ));
    return (isNear(next) && !isNear(old)) || (isFar(old) && !isFar(next));
  };
  const hasTopology = (pod: PodInfo, labels: NodeInfo["labels"]): boolean =>
    pod.terms.requiredAffinity.every(({ topologyKey }) => labels[topologyKey] !== undefined);
  return [
    { event: "pod-added", wakes: (pod, next) => wakes(pod, next, undefined) },
    { event: "pod-labels-changed", wakes },
    { event: "pod-deleted", wakes: (pod, deleted) => wakes(pod, undefined, deleted) },
    { event: "own-labels-changed" },
    { event: "node-added", wakes: (pod, node) => hasTopology(pod, node.metadata.labels ?? {}) },
    {
      event: "node-labels-changed",
      wakes: ({ terms }, node, old) =>
        [...terms.requiredAffinity, ...terms.requiredAntiAffinity].some(
          ({ topologyKey }) =>
            node.metadata.labels?.[topologyKey] !== old?.metadata.labels?.[topologyKey],
        ) || terms.requiredAntiAffinity.length + terms.requiredAffinity.length === 0,
    },
  ];
}
