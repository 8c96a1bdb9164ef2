/** Keeps pods off cordoned nodes unless they tolerate `node.kubernetes.io/unschedulable`. */
import { tolerates } from "#api/kinds/core/v1/node/tolerates.ts";
import { definePlugin, FITS, type PluginFactory, SKIP, unresolvable } from "#scheduler/plugin.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";

const UNSCHEDULABLE = {
  key: "node.kubernetes.io/unschedulable",
  effect: "NoSchedule",
} as const;

const CORDONED = unresolvable("node(s) were unschedulable");

export const nodeUnschedulable: PluginFactory = {
  name: "NodeUnschedulable",
  create: () =>
    definePlugin<undefined, undefined>({
      name: "NodeUnschedulable",
      filtersByNodeOnly: true,
      preFilter: (pod) => (isTolerated(pod) ? SKIP : { skip: false, state: undefined }),
      filter: (_state, _pod, node) => (node.isUnschedulable ? CORDONED : FITS),
      wakeOn: [
        { event: "node-added", wakes: (_pod, node) => node.spec?.unschedulable !== true },
        {
          event: "node-taints-changed",
          wakes: (_pod, node, old) =>
            old?.spec?.unschedulable === true && node.spec?.unschedulable !== true,
        },
        { event: "own-tolerations-changed", wakes: isTolerated },
      ],
    }),
};

function isTolerated({ pod }: PodInfo): boolean {
  return (pod.spec.tolerations ?? []).some((toleration) => tolerates(toleration, UNSCHEDULABLE));
}
