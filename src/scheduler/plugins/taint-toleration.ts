/** Keeps pods off nodes whose taints they do not tolerate; prefers nodes with fewer soft taints. */
import type { Node, Pod, Taint, Toleration } from "#api/generated/core.v1.ts";
import { tolerates } from "#api/kinds/core/v1/node/tolerates.ts";
import { definePlugin, FITS, type PluginFactory, unresolvable } from "#scheduler/plugin.ts";
import { normalizeScores } from "./normalize-scores.ts";

const UNTOLERATED = unresolvable("node(s) had untolerated taint(s)");

export const taintToleration: PluginFactory = {
  name: "TaintToleration",
  create: () =>
    definePlugin<readonly Toleration[], readonly Toleration[]>({
      name: "TaintToleration",
      filtersByNodeOnly: true,
      scoresByNodeOnly: true,
      preFilter: ({ pod }) => ({ skip: false, state: pod.spec.tolerations ?? [] }),
      filter: (tolerations, _pod, node) =>
        node.hardTaints.length === 0 || isEachTolerated(node.hardTaints, tolerations)
          ? FITS
          : UNTOLERATED,
      preScore: ({ pod }) => ({
        skip: false,
        state: (pod.spec.tolerations ?? []).filter(
          ({ effect = "" }) => effect === "" || effect === "PreferNoSchedule",
        ),
      }),
      score: (tolerations, _pod, { softTaints }) =>
        softTaints.length === 0
          ? 0
          : softTaints.filter((taint) => !isTolerated(taint, tolerations)).length,
      normalize: (_state, scores) => normalizeScores(scores, { lowestIsBest: true }),
      wakeOn: [
        { event: "node-added", wakes: ({ pod }, node) => !repels(node, pod) },
        {
          event: "node-taints-changed",
          wakes: ({ pod }, node, old) =>
            !repels(node, pod) && (old === undefined || repels(old, pod)),
        },
        { event: "own-tolerations-changed" },
      ],
    }),
};

/** Whether a taint of the node keeps the pod from being scheduled there. */
function repels({ spec }: Node, pod: Pod): boolean {
  const hard = (spec?.taints ?? []).filter(({ effect }) => effect !== "PreferNoSchedule");
  return !isEachTolerated(hard, pod.spec.tolerations ?? []);
}

export function isEachTolerated(
  taints: readonly Taint[],
  tolerations: readonly Toleration[],
): boolean {
  return taints.every((taint) => isTolerated(taint, tolerations));
}

function isTolerated(taint: Taint, tolerations: readonly Toleration[]): boolean {
  return tolerations.some((toleration) => tolerates(toleration, taint));
}
