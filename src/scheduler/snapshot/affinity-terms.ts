/** Terms of pod affinity, read once per pod, with a key that equal terms share. */
import type {
  Pod,
  PodAffinityTerm as TermSpec,
  WeightedPodAffinityTerm,
} from "#api/generated/core.v1.ts";
import {
  formatSelector,
  type Labels,
  matchesLabels,
  type Selector,
  selectorOf,
} from "#api/meta/label-selector.ts";

/** A set of pods (by namespace and labels) and the topology in which they are looked for. */
export interface AffinityTerm {
  /** Equal for terms that select the same pods. */
  readonly podsKey: string;
  readonly topologyKey: string;
  readonly namespaces: ReadonlySet<string>;
  readonly namespaceSelector: Selector;
  readonly selector: Selector;
}

export interface WeightedTerm {
  readonly term: AffinityTerm;
  readonly weight: number;
}

export interface AffinityTerms {
  readonly requiredAffinity: readonly AffinityTerm[];
  readonly requiredAntiAffinity: readonly AffinityTerm[];
  readonly preferredAffinity: readonly WeightedTerm[];
  readonly preferredAntiAffinity: readonly WeightedTerm[];
}

/** Of all pods without terms. */
export const NO_TERMS: AffinityTerms = Object.freeze({
  requiredAffinity: [],
  requiredAntiAffinity: [],
  preferredAffinity: [],
  preferredAntiAffinity: [],
});

export function affinityTermsOf(pod: Pod): AffinityTerms {
  const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
  if (podAffinity === undefined && podAntiAffinity === undefined) return NO_TERMS;
  const namespace = pod.metadata.namespace ?? "";
  const required = (terms: readonly TermSpec[] = []): AffinityTerm[] =>
    terms.map((term) => affinityTerm(term, namespace));
  const preferred = (terms: readonly WeightedPodAffinityTerm[] = []): WeightedTerm[] =>
    terms.map(({ weight, podAffinityTerm }) => ({
      weight,
      term: affinityTerm(podAffinityTerm, namespace),
    }));
  return {
    requiredAffinity: required(podAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    requiredAntiAffinity: required(podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    preferredAffinity: preferred(podAffinity?.preferredDuringSchedulingIgnoredDuringExecution),
    preferredAntiAffinity: preferred(
      podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution,
    ),
  };
}

/** Whether the term selects a pod with these labels in this namespace. */
export function termSelects(
  { namespaces, namespaceSelector, selector }: AffinityTerm,
  namespace: string,
  labels: Labels | undefined,
  namespaceLabels: Labels | undefined,
): boolean {
  const inScope = namespaces.has(namespace) || matchesLabels(namespaceSelector, namespaceLabels);
  return inScope && matchesLabels(selector, labels);
}

function affinityTerm(spec: TermSpec, ownNamespace: string): AffinityTerm {
  const { namespaces = [], namespaceSelector, labelSelector, topologyKey } = spec;
  const selector = readSelector(labelSelector);
  const scope = readSelector(namespaceSelector);
  const names =
    namespaces.length === 0 && namespaceSelector === undefined ? [ownNamespace] : namespaces;
  return {
    podsKey: `${[...names].sort().join(",")}|${keyOf(scope)}|${keyOf(selector)}`,
    topologyKey,
    namespaces: new Set(names),
    namespaceSelector: scope,
    selector,
  };
}

/** A selector that cannot be read selects nothing, as upstream's. */
function readSelector(spec: TermSpec["labelSelector"]): Selector {
  const parsed = selectorOf(spec);
  return parsed.ok ? parsed.value : "nothing";
}

function keyOf(selector: Selector): string {
  return selector === "nothing" ? "-" : `{${formatSelector(selector)}}`;
}
