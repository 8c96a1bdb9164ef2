/** What the kubelet says of its node: identity, amounts, addresses and conditions. */
import type { Node, NodeAddress, NodeCondition, NodeStatus } from "#api/generated/core.v1.ts";
import { quantityOf, quantityValue } from "#api/meta/quantity.ts";
import { timeFromMs } from "#api/meta/time.ts";

export interface NodeIdentity {
  readonly name: string;
  readonly hostname: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: NonNullable<Node["spec"]["taints"]>;
  readonly providerId: string;
  readonly isUnschedulable: boolean;
  readonly architecture: string;
}

export interface Pressures {
  readonly memory: boolean;
  readonly disk: boolean;
  readonly pid: boolean;
}

export interface NodeState {
  readonly addresses: readonly NodeAddress[];
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
  readonly port: number;
  readonly nodeInfo: NodeStatus["nodeInfo"];
  readonly images: NonNullable<NodeStatus["images"]>;
  readonly runtimeHandlers: NonNullable<NodeStatus["runtimeHandlers"]>;
  readonly supplementalGroupsPolicy: boolean;
  readonly volumesInUse: readonly string[];
  readonly pressures: Pressures;
  /** Why the node cannot run pods; none when it can. */
  readonly problems: readonly string[];
}

/** Volumes are attached by the controller. */
export const OWN_ANNOTATIONS: Readonly<Record<string, string>> = {
  "volumes.kubernetes.io/controller-managed-attach-detach": "true",
};

export function newNode(identity: NodeIdentity, state: NodeState, nowMs: number): Node {
  const { name, labels, taints, providerId, isUnschedulable } = identity;
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: { ...ownLabels(identity), ...labels },
      annotations: OWN_ANNOTATIONS,
    },
    spec: {
      ...(taints.length > 0 ? { taints } : {}),
      ...(providerId === "" ? {} : { providerID: providerId }),
      ...(isUnschedulable ? { unschedulable: true } : {}),
    },
    status: decideNodeStatus(undefined, state, nowMs),
  };
}

function ownLabels({ hostname, architecture }: NodeIdentity): Record<string, string> {
  return {
    "kubernetes.io/hostname": hostname,
    "kubernetes.io/os": "linux",
    "kubernetes.io/arch": architecture,
    "beta.kubernetes.io/os": "linux",
    "beta.kubernetes.io/arch": architecture,
  };
}

/** Labels that describe the machine, and are also set on a Node that exists already. */
const MACHINE_LABELS: ReadonlySet<string> = new Set([
  ...["kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch"],
  ...["topology.kubernetes.io/zone", "topology.kubernetes.io/region"],
  ...["failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"],
  ...["node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"],
  ...["beta.kubernetes.io/os", "beta.kubernetes.io/arch"],
]);

/** Other labels of `--node-labels` are set only when the kubelet makes the Node, as in upstream: they may have been changed since. */
export function labelsOfExistingNode(identity: NodeIdentity): Record<string, string> {
  const all = { ...ownLabels(identity), ...identity.labels };
  const isKept = ([name, value]: readonly [string, string]): boolean =>
    MACHINE_LABELS.has(name) && value !== "";
  return Object.fromEntries(Object.entries(all).filter(isKept));
}

/** Fields and resources of others, such as device plug-ins, are kept. */
export function decideNodeStatus(
  old: NodeStatus | undefined,
  state: NodeState,
  nowMs: number,
): NodeStatus {
  const { addresses, port, nodeInfo, images, runtimeHandlers, volumesInUse } = state;
  const { volumesInUse: _, ...others } = old ?? {};
  return {
    ...others,
    addresses,
    capacity: { ...old?.capacity, ...state.capacity },
    allocatable: { ...old?.allocatable, ...state.allocatable },
    conditions: decideNodeConditions(old?.conditions ?? [], state, nowMs),
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
    nodeInfo,
    images,
    ...(volumesInUse.length > 0 ? { volumesInUse } : {}),
    ...(runtimeHandlers.length > 0 ? { runtimeHandlers } : {}),
    features: { supplementalGroupsPolicy: state.supplementalGroupsPolicy },
  };
}

interface Says {
  readonly type: string;
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

function decideNodeConditions(
  old: readonly NodeCondition[],
  { pressures, problems }: NodeState,
  nowMs: number,
): NodeCondition[] {
  const isReady = problems.length === 0;
  const says: Says[] = [
    pressures.memory
      ? says4(
          "MemoryPressure",
          "True",
          "KubeletHasInsufficientMemory",
          "kubelet has insufficient memory available",
        )
      : says4(
          "MemoryPressure",
          "False",
          "KubeletHasSufficientMemory",
          "kubelet has sufficient memory available",
        ),
    pressures.disk
      ? says4("DiskPressure", "True", "KubeletHasDiskPressure", "kubelet has disk pressure")
      : says4("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    pressures.pid
      ? says4(
          "PIDPressure",
          "True",
          "KubeletHasInsufficientPID",
          "kubelet has insufficient PID available",
        )
      : says4(
          "PIDPressure",
          "False",
          "KubeletHasSufficientPID",
          "kubelet has sufficient PID available",
        ),
    isReady
      ? says4("Ready", "True", "KubeletReady", "kubelet is posting ready status")
      : says4("Ready", "False", "KubeletNotReady", inBrackets(problems)),
  ];
  const now = timeFromMs(nowMs);
  const own = says.map((one): NodeCondition => {
    const before = old.find(({ type }) => type === one.type);
    const lastTransitionTime = before?.status === one.status ? before.lastTransitionTime : now;
    return { ...one, lastHeartbeatTime: now, lastTransitionTime: lastTransitionTime ?? now };
  });
  const types = new Set(own.map(({ type }) => type));
  return [...old.filter(({ type }) => !types.has(type)), ...own];
}

function says4(type: string, status: "True" | "False", reason: string, message: string): Says {
  return { type, status, reason, message };
}

function inBrackets(problems: readonly string[]): string {
  return problems.length === 1 ? problems[0]! : `[${problems.join(", ")}]`;
}

/** Capacity less what is reserved; never below nothing. */
export function allocatableOf(
  capacity: Readonly<Record<string, string>>,
  ...reserved: readonly Readonly<Record<string, string>>[]
): Record<string, string> {
  const result: Record<string, string> = { ...capacity };
  for (const [name, amount] of Object.entries(capacity)) {
    const taken = reserved.map((list) => list[name]).filter((text) => text !== undefined);
    if (taken.length === 0) continue;
    result[name] = name === "cpu" ? lessCpu(amount, taken) : lessBytes(amount, taken);
  }
  return result;
}

function lessCpu(amount: string, taken: readonly string[]): string {
  const milli = (text: string): number => Math.round(Number(quantityMilli(text)));
  const left = taken.reduce((rest, text) => rest - milli(text), milli(amount));
  return left % 1000 === 0 ? String(Math.max(0, left) / 1000) : `${Math.max(0, left)}m`;
}

function quantityMilli(text: string): number {
  const { mantissa, exponent } = quantityOf(text);
  return Number(mantissa) * 10 ** (exponent + 3);
}

function lessBytes(amount: string, taken: readonly string[]): string {
  const bytes = (text: string): number => quantityValue(quantityOf(text));
  const left = Math.max(
    0,
    taken.reduce((rest, text) => rest - bytes(text), bytes(amount)),
  );
  return left % 1024 === 0 && amount.endsWith("Ki") ? `${left / 1024}Ki` : String(left);
}
