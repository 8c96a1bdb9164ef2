/**
 * Keeps pods on nodes that their node selector and required node affinity select, and on those that
 * the profile's added affinity selects; prefers nodes by preferred node affinity.
 */
import type {
  Node,
  NodeAffinity,
  NodeSelector,
  Pod,
  PreferredSchedulingTerm,
} from "#api/generated/core.v1.ts";
import { matchesNodeSelectorTerm, wantsNode } from "#api/kinds/core/v1/node/node-selection.ts";
import { definePlugin, FITS, type PluginFactory, SKIP, unresolvable } from "#scheduler/plugin.ts";
import { normalizeScores } from "./normalize-scores.ts";

const NO_MATCH = unresolvable("node(s) didn't match Pod's node affinity/selector");
const NOT_ADDED = unresolvable("node(s) didn't match scheduler-enforced node affinity");
const CONFLICT = unresolvable("pod affinity terms conflict");

export interface NodeAffinityArgs {
  readonly addedAffinity?: NodeAffinity;
}

export const nodeAffinity: PluginFactory = {
  name: "NodeAffinity",
  create: (args) => createNodeAffinity((args ?? {}) as NodeAffinityArgs),
};

function createNodeAffinity({ addedAffinity }: NodeAffinityArgs) {
  const added = addedAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const addedPreferred = addedAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  const isAdded = (node: Node): boolean => added === undefined || selects(added, node);
  const fits = (pod: Pod, node: Node): boolean => isAdded(node) && wantsNode(pod.spec, node);
  return definePlugin<undefined, readonly PreferredSchedulingTerm[]>({
    name: "NodeAffinity",
    filtersByNodeOnly: true,
    scoresByNodeOnly: true,
    preFilter: ({ pod }) => {
      const { nodeSelector, affinity } = pod.spec;
      const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
      const isSelected = nodeSelector !== undefined && Object.keys(nodeSelector).length > 0;
      if (!isSelected && required === undefined && added === undefined) return SKIP;
      const nodeNames = required === undefined ? undefined : namesOf(required);
      if (nodeNames?.size === 0) return CONFLICT;
      return { skip: false, state: undefined, ...(nodeNames === undefined ? {} : { nodeNames }) };
    },
    filter: (_state, { pod }, { node }) => {
      if (!isAdded(node!)) return NOT_ADDED;
      return wantsNode(pod.spec, node!) ? FITS : NO_MATCH;
    },
    preScore: ({ pod }) => {
      const own =
        pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
      const terms = [...addedPreferred, ...own];
      return terms.length === 0 ? SKIP : { skip: false, state: terms };
    },
    score: (terms, _pod, { node }) => {
      let sum = 0;
      for (const { weight, preference } of terms) {
        if (weight !== 0 && matchesNodeSelectorTerm(preference, node!)) sum += weight;
      }
      return sum;
    },
    normalize: (_state, scores) => normalizeScores(scores),
    wakeOn: [
      { event: "node-added", wakes: ({ pod }, node) => fits(pod, node) },
      {
        event: "node-labels-changed",
        wakes: ({ pod }, node, old) => fits(pod, node) && (old === undefined || !fits(pod, old)),
      },
    ],
  });
}

function selects({ nodeSelectorTerms }: NodeSelector, node: Node): boolean {
  return (nodeSelectorTerms ?? []).some((term) => matchesNodeSelectorTerm(term, node));
}

/** The only nodes that can match, if every term names its nodes by `metadata.name`. */
function namesOf({ nodeSelectorTerms }: NodeSelector): ReadonlySet<string> | undefined {
  const names = new Set<string>();
  if ((nodeSelectorTerms ?? []).length === 0) return undefined;
  for (const { matchFields = [] } of nodeSelectorTerms ?? []) {
    const lists = matchFields
      .filter(({ key, operator }) => key === "metadata.name" && operator === "In")
      .map(({ values = [] }) => values);
    const [first, ...others] = lists;
    if (first === undefined) return undefined;
    for (const name of first) if (others.every((list) => list.includes(name))) names.add(name);
  }
  return names;
}
