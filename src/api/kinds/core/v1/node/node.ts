/** v1 Node. */

import { ageColumn, NONE, nameColumn, UNKNOWN } from "#api/columns.ts";
import { assign, keep } from "#api/draft.ts";
import type { Node } from "#api/generated/core.v1.ts";
import { type Column, type Draft, defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { proxyRoute } from "#api/subresource-route.ts";
import { cidrWarnings } from "#api/validation/ip.ts";
import { validateFinalizers, validateKubeMeta } from "#api/validation/kube-meta.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { roundToMillis } from "../resources/round-resources.ts";
import { validateNode, validateNodeChange } from "./node-rules.ts";

const ROLE_LABEL_PREFIX = "node-role.kubernetes.io/";
const ROLE_LABEL = "kubernetes.io/role";
const META = { namespaced: false, nameRule: nameIsDnsSubdomain };

export const nodeKind = defineKind<Node>({
  group: "",
  version: "v1",
  names: { kind: "Node", plural: "nodes", short: ["no"] },
  scope: "Cluster",
  schema: builtInSchema("core.v1.Node"),
  storagePath: "minions",
  extraSubresources: [proxyRoute("NodeProxyOptions")],
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,

  defaults(draft) {
    alignPodCidrs(draft);
    const { status } = draft;
    roundToMillis(status.capacity);
    if (status.allocatable === undefined && status.capacity !== undefined) {
      status.allocatable = { ...status.capacity };
    }
    roundToMillis(status.allocatable);
  },
  prepareCreate(draft) {
    delete draft.spec.configSource;
    delete draft.status.config;
  },
  validate: (node) => [...validateFinalizers(node.metadata), ...validateNode(node)],
  prepareUpdate(draft, old) {
    draft.status = keep(old.status);
    if (old.spec.configSource === undefined) delete draft.spec.configSource;
  },
  validateUpdate: (next, old) => [
    ...validateKubeMeta(next.metadata, META),
    ...validateNode(next),
    ...validateNodeChange(next, old),
  ],
  warnings: ({ spec }) => [
    ...(spec.configSource === undefined ? [] : ["spec.configSource: the feature is removed"]),
    ...(spec.externalID
      ? ["spec.externalID: this field is deprecated, and is unused by Kubernetes"]
      : []),
    ...(spec.podCIDRs ?? []).flatMap((cidr, i) =>
      cidrWarnings(Path.of("spec", "podCIDRs").index(i), cidr),
    ),
  ],

  subresources: {
    status: {
      prepareUpdate(draft, old) {
        draft.spec = keep(old.spec);
        if (old.status.config === undefined) delete draft.status.config;
      },
      validateUpdate: validateNodeChange,
    },
  },

  columns: [
    nameColumn,
    {
      name: "Status",
      type: "string",
      description: "The status of the node",
      cell: readiness,
    },
    {
      name: "Roles",
      type: "string",
      description: "The roles of the node",
      cell: (node) => rolesOf(node).join(",") || NONE,
    },
    ageColumn,
    {
      name: "Version",
      type: "string",
      describedBy: "core.v1.NodeSystemInfo.kubeletVersion",
      cell: ({ status }) => status.nodeInfo.kubeletVersion,
    },
    addressColumn("Internal-IP", "InternalIP"),
    addressColumn("External-IP", "ExternalIP"),
    {
      name: "OS-Image",
      type: "string",
      priority: 1,
      describedBy: "core.v1.NodeSystemInfo.osImage",
      cell: ({ status }) => status.nodeInfo.osImage || UNKNOWN,
    },
    {
      name: "Kernel-Version",
      type: "string",
      priority: 1,
      describedBy: "core.v1.NodeSystemInfo.kernelVersion",
      cell: ({ status: { nodeInfo } }) => {
        const version = nodeInfo.kernelVersion || UNKNOWN;
        return nodeInfo.architecture === "" ? version : `${version} (${nodeInfo.architecture})`;
      },
    },
    {
      name: "Container-Runtime",
      type: "string",
      priority: 1,
      describedBy: "core.v1.NodeSystemInfo.containerRuntimeVersion",
      cell: ({ status }) => status.nodeInfo.containerRuntimeVersion || UNKNOWN,
    },
  ],
  selectableFields: ({ spec }) => ({ "spec.unschedulable": String(spec.unschedulable ?? false) }),
});

/** podCIDR is the first of podCIDRs; where the two differ, the older field wins. */
function alignPodCidrs({ spec }: Draft<Node>): void {
  if (spec.podCIDR && spec.podCIDR !== spec.podCIDRs?.[0]) spec.podCIDRs = [spec.podCIDR];
  assign(spec, "podCIDR", spec.podCIDRs?.[0]);
}

function readiness({ spec, status }: Node): string {
  const ready = status.conditions?.findLast(({ type }) => type === "Ready");
  const text = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
  return spec.unschedulable ? `${text},SchedulingDisabled` : text;
}

function rolesOf({ metadata: { labels = {} } }: Node): string[] {
  const roles = Object.entries(labels).flatMap(([key, value]) => {
    if (key.startsWith(ROLE_LABEL_PREFIX)) return key.slice(ROLE_LABEL_PREFIX.length);
    return key === ROLE_LABEL ? value : [];
  });
  return [...new Set(roles.filter((role) => role !== ""))].sort();
}

function addressColumn(name: string, wanted: string): Column<Node> {
  return {
    name,
    type: "string",
    priority: 1,
    describedBy: "core.v1.NodeStatus.addresses",
    cell: ({ status }) => status.addresses?.find(({ type }) => type === wanted)?.address ?? NONE,
  };
}
