/** What a node says under the names of kube-state-metrics. Pure. */
import type { Node } from "#api/generated/core.v1.ts";
import { conditionSamples, type StateFamilies, sample } from "./metric-family.ts";
import { seconds } from "./pod-families.ts";
import { resourceSamples } from "./resource-samples.ts";

const ROLE_PREFIX = "node-role.kubernetes.io/";

export const nodeFamilies: StateFamilies<Node> = {
  kube_node_info: (node) => {
    const info = node.status?.nodeInfo;
    const internal = node.status?.addresses?.find(({ type }) => type === "InternalIP");
    return sample(
      {
        ...labelsOf(node),
        kernel_version: info?.kernelVersion,
        os_image: info?.osImage,
        container_runtime_version: info?.containerRuntimeVersion,
        kubelet_version: info?.kubeletVersion,
        kubeproxy_version: "deprecated",
        provider_id: node.spec?.providerID ?? "",
        pod_cidr: node.spec?.podCIDR ?? "",
        system_uuid: info?.systemUUID,
        internal_ip: internal?.address ?? "",
      },
      1,
    );
  },
  kube_node_created: (node) => sample(labelsOf(node), seconds(node.metadata.creationTimestamp)),
  kube_node_role: (node) =>
    Object.keys(node.metadata.labels ?? {}).flatMap((label) =>
      label.startsWith(ROLE_PREFIX)
        ? sample({ ...labelsOf(node), role: label.slice(ROLE_PREFIX.length) }, 1)
        : [],
    ),
  kube_node_spec_unschedulable: (node) =>
    sample(labelsOf(node), Number(node.spec?.unschedulable === true)),
  kube_node_spec_taint: (node) =>
    (node.spec?.taints ?? []).flatMap(({ key, value = "", effect }) =>
      sample({ ...labelsOf(node), key, value, effect }, 1),
    ),
  kube_node_status_condition: (node) =>
    conditionSamples(labelsOf(node), node.status?.conditions ?? []),
  kube_node_status_capacity: (node) => resourceSamples(labelsOf(node), node.status?.capacity),
  kube_node_status_allocatable: (node) => resourceSamples(labelsOf(node), node.status?.allocatable),
};

function labelsOf({ metadata: { name } }: Node) {
  return { node: name };
}
