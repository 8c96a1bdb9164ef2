/** Opens what the kubelet needs of its machine: cgroups, the container runtime, facts and amounts. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ServerEventRecorder } from "#client/event-recorder.ts";
import { type Cgroups, openCgroups } from "#host/cgroups.ts";
import { type MachineFacts, machineAddresses, readMachine } from "#host/machine.ts";
import { type CriClient, createCriClient } from "#kubelet/cri/cri-client.ts";
import { kubepodsCgroup, qosCgroups } from "#kubelet/decide/pod-cgroup.ts";
import type { KubeletOptions } from "#kubelet/kubelet-options.ts";
import {
  addKubeletMetrics,
  type KubeletMetrics,
  measuredCgroups,
} from "#kubelet/node/kubelet-metrics.ts";
import { type NodeAmounts, nodeAmounts } from "#kubelet/node/node-amounts.ts";
import { type NodeEvent, nodeEventsOf } from "#kubelet/node/node-events.ts";
import { createPodEvents, type PodEvents } from "#kubelet/pods/pod-events.ts";
import type { PodPaths } from "#kubelet/pods/pod-paths.ts";

export interface OpenedMachine {
  readonly machine: MachineFacts;
  readonly amounts: NodeAmounts;
  readonly hostIps: readonly string[];
  readonly cgroups: Cgroups;
  readonly cri: CriClient;
  readonly paths: PodPaths;
  readonly measured: KubeletMetrics;
  readonly events: PodEvents;
  readonly nodeEvent: NodeEvent;
}

/** The folder of pods and the cgroups of the QoS classes exist afterwards. */
export async function openMachine(
  options: KubeletOptions,
  signal: AbortSignal,
): Promise<OpenedMachine> {
  const { config, client, clock, logger } = options;
  await mkdir(join(config.rootDir, "pods"), { recursive: true });
  const measured = addKubeletMetrics(options.metrics, config.nodeName, clock);
  const [ownCgroups, machine] = await Promise.all([openCgroups(clock), readMachine()]);
  const cgroups = measuredCgroups(ownCgroups, measured.cgroup);
  const { imageEndpoint } = config;
  const cri = createCriClient({
    endpoint: config.runtimeEndpoint,
    measure: measured.runtimeOperation,
    ...(imageEndpoint === "" ? {} : { imageEndpoint }),
  });
  const amounts = await nodeAmounts(machine, config);
  await prepareCgroups(cgroups, config.cgroupRoot);
  const hostIps =
    config.nodeIps.length > 0 ? config.nodeIps : (await machineAddresses()).slice(0, 1);
  const recorder = new ServerEventRecorder(client, clock, logger, config.nodeName);
  void recorder.run(signal);
  return {
    ...{ machine, amounts, hostIps, cgroups, cri, measured },
    paths: { root: config.rootDir, logs: config.podLogsDir },
    events: createPodEvents(recorder),
    nodeEvent: nodeEventsOf(recorder, config.nodeName),
  };
}

async function prepareCgroups(cgroups: Cgroups, root: string): Promise<void> {
  const { burstable, besteffort } = qosCgroups(root);
  await cgroups.ensure(kubepodsCgroup(root), {});
  await cgroups.ensure(burstable, { cpuShares: 2 });
  await cgroups.ensure(besteffort, { cpuShares: 2 });
}
