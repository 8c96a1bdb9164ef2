/** Reads what the node's status reports: addresses, capacity, images, the runtime's health. */
import type { NodeAddress } from "#api/generated/core.v1.ts";
import type { MachineFacts } from "#host/machine.ts";
import type { CriClient } from "#kubelet/cri/cri-client.ts";
import type { NodeState, Pressures } from "#kubelet/decide/node/node-status.ts";
import type { DeviceManager } from "#kubelet/devices/device-manager.ts";
import type { KubeletConfig } from "#kubelet/kubelet-config.ts";
import type { NodeAmounts } from "./node-amounts.ts";
import type { RuntimeHealth } from "./runtime-watch.ts";

const KUBELET_VERSION = "v1.36.4";
const IMAGE_NAMES_MAX = 5;

/** The parts of the kubelet that know the state. */
export interface NodeStateSources {
  readonly machine: MachineFacts;
  readonly amounts: NodeAmounts;
  readonly hostIps: readonly string[];
  readonly cri: CriClient;
  readonly devices: DeviceManager;
  readonly health: RuntimeHealth;
  readonly pressures: Pressures;
  readonly volumesInUse: NodeState["volumesInUse"];
  readonly isShuttingDown: boolean;
}

export async function readNodeState(
  {
    nodeName,
    port,
    nodeStatusMaxImages,
  }: Pick<KubeletConfig, "nodeName" | "port" | "nodeStatusMaxImages">,
  sources: NodeStateSources,
): Promise<NodeState> {
  const { machine, amounts, devices, health } = sources;
  const ending = sources.isShuttingDown ? "node is shutting down" : undefined;
  const problems = [health.runtimeProblem, health.networkProblem, ending].filter(
    (one) => one !== undefined,
  );
  return {
    addresses: nodeAddresses(nodeName, sources.hostIps),
    capacity: { ...amounts.capacity, ...devices.capacity() },
    allocatable: { ...amounts.allocatable, ...devices.allocatable() },
    port,
    nodeInfo: nodeInfo(machine, health),
    images: await nodeImages(sources.cri, nodeStatusMaxImages),
    runtimeHandlers: health.handlers.map(({ name, features }) => ({
      name,
      features: {
        recursiveReadOnlyMounts: features?.recursiveReadOnlyMounts ?? false,
        userNamespaces: features?.userNamespaces ?? false,
      },
    })),
    supplementalGroupsPolicy: health.supplementalGroupsPolicy,
    volumesInUse: sources.volumesInUse,
    pressures: sources.pressures,
    problems: [...new Set(problems)],
  };
}

export function nodeAddresses(
  nodeName: string,
  hostIps: readonly string[],
): readonly NodeAddress[] {
  return [
    ...hostIps.map((address) => ({ type: "InternalIP" as const, address })),
    { type: "Hostname", address: nodeName },
  ];
}

function nodeInfo(machine: MachineFacts, { version }: RuntimeHealth): NodeState["nodeInfo"] {
  const { runtimeName = "containerd", runtimeVersion = "" } = version ?? {};
  return {
    machineID: machine.machineId,
    systemUUID: machine.systemUuid,
    bootID: machine.bootId,
    kernelVersion: machine.kernelVersion,
    osImage: machine.osImage,
    containerRuntimeVersion: `${runtimeName}://${runtimeVersion}`,
    kubeletVersion: KUBELET_VERSION,
    kubeProxyVersion: "",
    operatingSystem: "linux",
    architecture: machine.architecture,
    ...(machine.swapBytes > 0 ? { swap: { capacity: machine.swapBytes } } : {}),
  };
}

/** The largest images. None while the runtime does not answer: its health is reported on its own. */
async function nodeImages(cri: CriClient, max: number): Promise<NodeState["images"]> {
  const { images } = await cri.images.listImages({}).catch(() => ({ images: [] }));
  return [...images]
    .sort((a, b) => b.size - a.size)
    .slice(0, max < 0 ? images.length : max)
    .map(({ repoDigests, repoTags, size }) => ({
      names: [...repoDigests, ...repoTags].slice(0, IMAGE_NAMES_MAX),
      sizeBytes: size,
    }));
}
