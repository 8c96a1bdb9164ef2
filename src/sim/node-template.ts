/** What simulated nodes look like: the Node object and its status. Pure. */
import type { Node } from "#api/generated/core.v1.ts";
import { KUBERNETES_VERSION } from "#api/meta/kubernetes-version.ts";
import {
  decideNodeStatus,
  type NodeIdentity,
  type NodeState,
  newNode,
} from "#kubelet/decide/node/node-status.ts";
import {
  FAILURE_ANNOTATION,
  failureOf,
  MACHINE_ANNOTATION,
  MANAGED_ANNOTATION,
  SIMULATED_LABEL,
  ZONE_LABEL,
} from "./names.ts";

export interface NodeTemplate {
  readonly capacity: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: NonNullable<Node["spec"]["taints"]>;
  /** Nodes are spread over them in turn. */
  readonly zones: readonly string[];
}

export const DEFAULT_TEMPLATE: NodeTemplate = {
  capacity: { cpu: "32", memory: "256Gi", pods: "110", "ephemeral-storage": "1Ti" },
  labels: {},
  taints: [],
  zones: ["zone-a", "zone-b", "zone-c"],
};

/** Pods go there only where they tolerate it: what real nodes beside simulated ones need. */
export const SIMULATED_TAINT = {
  key: SIMULATED_LABEL,
  value: "true",
  effect: "NoSchedule",
} as const;

const UNINITIALIZED_TAINT = "node.cloudprovider.kubernetes.io/uninitialized";

/** How the kubelet server of all simulated nodes is reached. */
export interface NodeEndpoint {
  readonly port: number;
  /** Of the node with this number. */
  address(index: number): string;
}

export function simulatedNode(
  name: string,
  index: number,
  template: NodeTemplate,
  endpoint: NodeEndpoint,
  nowMs: number,
): Node {
  const { zones, taints } = template;
  const zone = zones[index % Math.max(1, zones.length)];
  const identity: NodeIdentity = {
    ...{ name, hostname: name, architecture: "amd64", isUnschedulable: false, providerId: "" },
    taints,
    labels: {
      [SIMULATED_LABEL]: "true",
      "node.kubernetes.io/instance-type": "simulated",
      ...(zone === undefined ? {} : { [ZONE_LABEL]: zone }),
      ...template.labels,
    },
  };
  const node = newNode(identity, nodeState(name, index, template.capacity, endpoint, []), nowMs);
  const annotations = { ...node.metadata.annotations, [MANAGED_ANNOTATION]: "true" };
  return { ...node, metadata: { ...node.metadata, annotations } };
}

/** The Node that a machine of a simulated cloud registers: the cloud controller manager completes it. */
export function machineNode(
  { id, name }: { readonly id: string; readonly name: string },
  template: NodeTemplate,
  nowMs: number,
): Node {
  const uninitialized = { key: UNINITIALIZED_TAINT, value: "true", effect: "NoSchedule" } as const;
  const identity: NodeIdentity = {
    ...{ name, hostname: name, architecture: "amd64", isUnschedulable: false, providerId: "" },
    taints: [...template.taints, uninitialized],
    labels: { [SIMULATED_LABEL]: "true", ...template.labels },
  };
  const nowhere = { port: 0, address: () => "" };
  const state = { ...nodeState(name, 0, template.capacity, nowhere, []), addresses: [] };
  const node = newNode(identity, state, nowMs);
  const annotations = { ...node.metadata.annotations, [MACHINE_ANNOTATION]: id };
  return { ...node, metadata: { ...node.metadata, annotations } };
}

/** The status of a node now: amounts that its object has count more than those of the template. */
export function simulatedStatus(
  node: Node,
  index: number,
  { capacity }: NodeTemplate,
  endpoint: NodeEndpoint,
  nowMs: number,
): Node["status"] {
  const { name = "", annotations } = node.metadata;
  const own = Object.keys(node.status.capacity ?? {}).length > 0 ? node.status.capacity! : capacity;
  const problems =
    failureOf(annotations?.[FAILURE_ANNOTATION]) === "not-ready"
      ? ["container runtime is down"]
      : [];
  const described = nodeState(name, index, own, endpoint, problems);
  // The addresses of a machine are those that the cloud gives it.
  const state =
    annotations?.[MACHINE_ANNOTATION] === undefined
      ? described
      : { ...described, addresses: node.status.addresses ?? [] };
  const allocatable = { ...own, ...node.status.allocatable };
  return decideNodeStatus(node.status, { ...state, allocatable }, nowMs);
}

function nodeState(
  name: string,
  index: number,
  capacity: Readonly<Record<string, string>>,
  { address, port }: NodeEndpoint,
  problems: readonly string[],
): NodeState {
  const id = index.toString(16).padStart(32, "0");
  return {
    addresses: [
      { type: "InternalIP", address: address(index) },
      { type: "Hostname", address: name },
    ],
    capacity,
    allocatable: capacity,
    port,
    nodeInfo: {
      ...{ machineID: id, systemUUID: id, bootID: id, kernelVersion: "simulated" },
      osImage: "k8ts simulated node",
      containerRuntimeVersion: "simulated://1.0",
      kubeletVersion: KUBERNETES_VERSION.replace(/\+.*/, ""),
      kubeProxyVersion: "",
      ...{ operatingSystem: "linux", architecture: "amd64" },
    },
    images: [],
    runtimeHandlers: [],
    volumesInUse: [],
    supplementalGroupsPolicy: true,
    pressures: { memory: false, disk: false, pid: false },
    problems,
  };
}
