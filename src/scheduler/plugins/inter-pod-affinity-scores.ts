/** What the preferences of a pod and of the pods that run say about each topology domain. */
import type { WeightedTerm } from "#scheduler/snapshot/affinity-terms.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import type { Snapshot } from "#scheduler/snapshot/snapshot.ts";
import type { TermRole } from "#scheduler/snapshot/term-groups.ts";
import { affinityCounter } from "./affinity-counter.ts";

/** Topology key, domain, score. */
export type TopologyScores = ReadonlyMap<string, ReadonlyMap<string, number>>;

export function preferenceScores(
  pod: PodInfo,
  snapshot: Snapshot,
  options: { readonly hardWeight: number; readonly ignoresExisting: boolean },
): TopologyScores {
  const scores = new Map<string, Map<string, number>>();
  const { preferredAffinity, preferredAntiAffinity } = pod.terms;
  for (const term of preferredAffinity) addOwnTerm(scores, term, 1, snapshot);
  for (const term of preferredAntiAffinity) addOwnTerm(scores, term, -1, snapshot);
  const hasOwn = preferredAffinity.length + preferredAntiAffinity.length > 0;
  if (options.ignoresExisting && !hasOwn) return scores;
  const namespaceLabels = snapshot.namespaceLabels(pod.namespace);
  const addGroups = (role: TermRole, weightOf: (weight: number) => number): void => {
    for (const group of snapshot.terms.selecting(pod, role, namespaceLabels)) {
      const weight = weightOf(group.weight);
      for (const [domain, pods] of group.podsByDomain) {
        addScore(scores, group.term.topologyKey, domain, weight * pods);
      }
    }
  };
  if (options.hardWeight > 0) addGroups("required-affinity", () => options.hardWeight);
  addGroups("preferred-affinity", (weight) => weight);
  addGroups("preferred-anti-affinity", (weight) => -weight);
  return scores;
}

function addOwnTerm(
  scores: Map<string, Map<string, number>>,
  { term, weight }: WeightedTerm,
  sign: 1 | -1,
  snapshot: Snapshot,
): void {
  const { topologyKey } = term;
  const counter = snapshot.counter(affinityCounter([term], topologyKey, snapshot));
  for (const [domain, { pods }] of counter.domains) {
    if (pods > 0) addScore(scores, topologyKey, domain, sign * weight * pods);
  }
}

function addScore(
  scores: Map<string, Map<string, number>>,
  topologyKey: string,
  domain: string,
  amount: number,
): void {
  let byDomain = scores.get(topologyKey);
  if (byDomain === undefined) {
    byDomain = new Map();
    scores.set(topologyKey, byDomain);
  }
  byDomain.set(domain, (byDomain.get(domain) ?? 0) + amount);
}
