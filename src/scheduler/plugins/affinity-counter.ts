/** The counter of the pods that affinity terms select, in the domains of one topology. */
import { type AffinityTerm, termSelects } from "#scheduler/snapshot/affinity-terms.ts";
import type { Snapshot } from "#scheduler/snapshot/snapshot.ts";
import type { CounterSpec } from "#scheduler/snapshot/topology-counter.ts";

/** Counts pods that all the terms select, in the domains of one topology. */
export function affinityCounter(
  terms: readonly AffinityTerm[],
  topologyKey: string,
  snapshot: Snapshot,
): CounterSpec {
  const byNamespaceLabels = terms.some(({ namespaceSelector }) => namespaceSelector !== "nothing");
  const version = byNamespaceLabels ? `#${snapshot.namespaceVersion}` : "";
  return {
    key: `affinity${version}|${topologyKey}|${terms.map(({ podsKey }) => podsKey).join("&")}`,
    topologyKey,
    counts: ({ namespace, labels }) =>
      terms.every((term) =>
        termSelects(term, namespace, labels, snapshot.namespaceLabels(namespace)),
      ),
    includes: ({ labels }) => labels[topologyKey] !== undefined,
  };
}
