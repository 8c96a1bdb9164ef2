/** Pods carry the zone and region of the node that they are bound to. */
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { success } from "#api/meta/status.ts";
import { withMetadata } from "../changed-object.ts";
import type { AdmissionPlugin } from "../plugin.ts";
import { bodyOf, objectOfKind } from "../requests.ts";

const TOPOLOGY_LABELS = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

export const podTopologyLabels: AdmissionPlugin = {
  name: "PodTopologyLabels",
  operations: ["CREATE"],
  admit(request, { objects }) {
    const pod = objectOfKind(request, podKind, ["CREATE"]);
    const binding = bodyOf(request, "pods/binding");
    const nodeName =
      pod?.spec.nodeName ?? (binding?.target.kind === "Node" ? binding.target.name : undefined);
    if (!nodeName) return;
    const labels = objects.get(nodeKind, "", nodeName)?.metadata.labels ?? {};
    const copied = TOPOLOGY_LABELS.flatMap((key) =>
      labels[key] === undefined ? [] : [[key, labels[key]] as const],
    );
    if (copied.length === 0) return;
    const bound = (pod ?? binding)!;
    const added = Object.fromEntries(copied);
    return success(withMetadata(bound, { labels: { ...bound.metadata.labels, ...added } }));
  },
};
