/**
 * A node with a containerd of its own: the runtime, the kubelet with its server, and the pod network. Used
 * for the machine's own node, for nodes that are network namespaces, and for machines that join.
 *
 * Lives until the signal aborts. Then the pods end, and what the node made on the machine is removed.
 */

import { join } from "node:path";
import { addProcessMetrics } from "#apiserver/metrics/process-metrics.ts";
import type { Client } from "#client/client.ts";
import { openCgroups } from "#host/cgroups.ts";
import { removeTree } from "#host/files.ts";
import { machineAddresses } from "#host/machine.ts";
import { endLeftoverContainerd } from "#kubelet/containerd/leftovers.ts";
import type { NodePaths } from "#kubelet/containerd/node-paths.ts";
import { startOwnContainerd } from "#kubelet/containerd/own-containerd.ts";
import { stopSandboxes } from "#kubelet/containerd/stop-sandboxes.ts";
import { createCriClient } from "#kubelet/cri/cri-client.ts";
import { builtInImages } from "#kubelet/images/built-in-images.ts";
import { DEFAULT_KUBELET_CONFIG, type KubeletConfig } from "#kubelet/kubelet-config.ts";
import { untilAborted } from "#lib/async/aborted.ts";
import type { Logger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { isIpv6 } from "#network/decide-pod-routes.ts";
import { deviceWith } from "#network/ip-command.ts";
import type { NetworkMarks } from "#network/network-marks.ts";
import { runPodNetwork } from "#network/pod-network.ts";
import { type PodNetworkMode, podMtu } from "#network/pod-network-mode.ts";
import { type NodeServing, runNode } from "../kubelet/run-node.ts";

/** Grace period of pods when the node is stopped. */
const STOP_TIMEOUT_MS = 2_000;
/** Where add-ons that bring the pod network write their configuration. */
const ADD_ON_CNI_CONF = "/etc/cni/net.d";

export interface MachineNodeOptions {
  readonly name: string;
  /** Found out unless given. */
  readonly addresses?: readonly string[];
  readonly paths: NodePaths;
  readonly clusterDns: readonly string[];
  readonly serving: NodeServing;
  readonly podNetwork: {
    readonly mode: PodNetworkMode;
    readonly ranges: readonly string[];
    readonly marks: NetworkMarks;
    /** It may list nodes, which a kubelet may not. */
    readonly client: Client;
  };
  /** Families that the kubelet's page shows beside its own. */
  readonly kubeletMetrics?: Metrics;
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export async function runMachineNode(
  options: MachineNodeOptions,
  onReady: () => void,
  signal: AbortSignal,
): Promise<void> {
  const { name, paths, serving, client, clock, random, logger } = options;
  // Of its own: the process may be a whole cluster, whose metrics the API server shows.
  const metrics = new Metrics();
  addProcessMetrics(metrics, clock.nowMs() / 1000);
  if (options.kubeletMetrics !== undefined) metrics.include(options.kubeletMetrics);
  // The runtime outlives the kubelet: it has to end the pods.
  const runtimeLife = new AbortController();
  const networkLife = new AbortController();
  await endLeftoverContainerd(paths, clock, signal);
  const { mode, ranges: podRanges, marks, client: networkClient } = options.podNetwork;
  const containerd = await startOwnContainerd(
    mode === "none" ? { ...paths, cniConf: ADD_ON_CNI_CONF } : paths,
    { clock, random, logger },
    runtimeLife.signal,
  );
  const network = runPodNetwork(
    { ...{ client: networkClient, clock, random, logger, marks, mode }, nodeName: name, podRanges },
    networkLife.signal,
  );
  try {
    const config = await configOf(options, containerd.endpoint);
    const images = builtInImages(containerd.endpoint, paths.work, signal);
    const node = runNode(
      { ...{ config, serving, client, clock, random, logger, metrics }, builtInImages: images },
      signal,
    );
    await Promise.all([node.ready, network.ready]);
    onReady();
    await Promise.race([untilAborted(signal), node.done, network.done]);
    await node.done;
  } finally {
    using cri = createCriClient({ endpoint: containerd.endpoint });
    await stopSandboxes(cri, STOP_TIMEOUT_MS).catch((error: unknown) =>
      logger.warn("pods could not be ended", { error }),
    );
    networkLife.abort();
    runtimeLife.abort();
    await Promise.all([containerd.ended, network.done]);
    const cgroups = await openCgroups(clock);
    await cgroups.remove(paths.cgroupRoot);
    await removeTree(paths.containerdState); // sockets; nothing runs any more
  }
}

async function configOf(
  { name, addresses, paths, clusterDns, podNetwork }: MachineNodeOptions,
  runtimeEndpoint: string,
): Promise<KubeletConfig> {
  const { mode, marks, ranges } = podNetwork;
  const nodeIps = addresses ?? nodeIpsOf(await machineAddresses(), ranges);
  return {
    ...DEFAULT_KUBELET_CONFIG,
    failSwapOn: false, // pods get no swap; the machine may be a desktop with swap
    nodeName: name,
    nodeIps,
    rootDir: paths.kubeletRoot,
    podLogsDir: join(paths.kubeletRoot, "..", "logs"),
    runtimeEndpoint,
    cgroupRoot: paths.cgroupRoot,
    clusterDns,
    cniConfDir: mode === "none" ? undefined : paths.cniConf,
    cni: {
      bridge: marks.podBridge,
      addressesDir: join(paths.containerdState, "addresses"),
      masquerade: false,
      ...(await mtuOf(mode, nodeIps[0] ?? "")),
    },
  };
}

/** The first address, and the first of the other family if pods have both. */
function nodeIpsOf(machine: readonly string[], podRanges: readonly string[]): readonly string[] {
  const [first] = machine;
  if (first === undefined) return [];
  const isDual = podRanges.some(isIpv6) && !podRanges.every(isIpv6);
  const other = machine.find((address) => isIpv6(address) !== isIpv6(first));
  return isDual && other !== undefined ? [first, other] : [first];
}

async function mtuOf(mode: PodNetworkMode, address: string): Promise<{ readonly mtu?: number }> {
  const link = await deviceWith(address);
  return link === undefined ? {} : { mtu: podMtu(mode, link.mtu, isIpv6(address)) };
}
