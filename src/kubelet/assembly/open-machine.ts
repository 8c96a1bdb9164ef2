/** Opens what the kubelet needs of its machine: cgroups, the container runtime, facts and amounts. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ServerEventRecorder } from "#client/event-recorder.ts";
import { type Cgroups, hasSwapController, openCgroups } from "#host/cgroups.ts";
import {
  type MachineFacts,
  machineAddresses,
  machineUptimeSeconds,
  readMachine,
} from "#host/machine.ts";
import { type CriClient, createCriClient } from "#kubelet/cri/cri-client.ts";
import { allocatableOf } from "#kubelet/decide/node/node-status.ts";
import { kubepodsCgroup, qosCgroups } from "#kubelet/decide/pod-cgroup.ts";
import { nodeCgroupLimits } from "#kubelet/decide/resources/cgroup-limits.ts";
import type { KubeletConfig } from "#kubelet/kubelet-config.ts";
import type { KubeletOptions } from "#kubelet/kubelet-options.ts";
import {
  addKubeletMetrics,
  type KubeletMetrics,
  measuredCgroups,
} from "#kubelet/node/kubelet-metrics.ts";
import { type NodeAmounts, nodeAmounts } from "#kubelet/node/node-amounts.ts";
import { type NodeEvent, nodeEventsOf } from "#kubelet/node/node-events.ts";
import { addNodeStartup, type NodeStartup } from "#kubelet/node/node-startup.ts";
import { ConcurrentStarts } from "#kubelet/pods/concurrent-starts.ts";
import { createPodEvents, type PodEvents } from "#kubelet/pods/pod-events.ts";
import type { PodPaths } from "#kubelet/pods/pod-paths.ts";
import { PodStartLatency } from "#kubelet/pods/pod-start-latency.ts";

/** So long events give way to pods that are being started. */
const EVENT_DELAY_MAX_MS = 5_000;

export interface OpenedMachine {
  readonly machine: MachineFacts;
  readonly amounts: NodeAmounts;
  readonly hostIps: readonly string[];
  readonly cgroups: Cgroups;
  readonly cri: CriClient;
  readonly paths: PodPaths;
  readonly measured: KubeletMetrics;
  readonly startup: NodeStartup;
  readonly starts: PodStartLatency;
  readonly events: PodEvents;
  readonly concurrentStarts: ConcurrentStarts;
  /** Resolves after the signal aborted, when no event waits any more. */
  readonly eventsSent: Promise<void>;
  readonly nodeEvent: NodeEvent;
  /** The kernel limits swap by cgroup. */
  readonly hasSwapController: boolean;
}

/** The folder of pods and the cgroups of the QoS classes exist afterwards. */
export async function openMachine(
  options: KubeletOptions,
  signal: AbortSignal,
): Promise<OpenedMachine> {
  const { config, client, clock, logger } = options;
  await mkdir(join(config.rootDir, "pods"), { recursive: true });
  const measured = addKubeletMetrics(options.metrics, config.nodeName, clock);
  const startup = addNodeStartup(measured.registry, clock, machineUptimeSeconds());
  const [ownCgroups, machine] = await Promise.all([openCgroups(clock), readMachine()]);
  refuseMachine(config, ownCgroups.version, machine);
  const cgroups = measuredCgroups(ownCgroups, measured.cgroup);
  const { imageEndpoint } = config;
  const cri = createCriClient({
    endpoint: config.runtimeEndpoint,
    measure: measured.runtimeOperation,
    ...(imageEndpoint === "" ? {} : { imageEndpoint }),
  });
  const amounts = await nodeAmounts(machine, config);
  await prepareCgroups(cgroups, config, amounts);
  const hostIps =
    config.nodeIps.length > 0 ? config.nodeIps : (await machineAddresses()).slice(0, 1);
  const concurrentStarts = new ConcurrentStarts(clock);
  const recorder = new ServerEventRecorder(client, clock, logger, config.nodeName, {
    waitForTurn: (ageMs, own) => concurrentStarts.few(EVENT_DELAY_MAX_MS - Math.max(0, ageMs), own),
  });
  const eventsSent = recorder.run(signal);
  return {
    ...{ machine, amounts, hostIps, cgroups, cri, measured, startup, concurrentStarts, eventsSent },
    starts: new PodStartLatency(measured.registry, clock),
    paths: { root: config.rootDir, logs: config.podLogsDir },
    events: createPodEvents(recorder),
    nodeEvent: nodeEventsOf(recorder, config.nodeName),
    hasSwapController: await hasSwapController(cgroups.version),
  };
}

/** Throws where the configuration does not allow such a machine, in upstream's words. */
function refuseMachine(
  { failSwapOn, swapBehavior, failCgroupV1 }: KubeletConfig,
  cgroupVersion: 1 | 2,
  { swapBytes }: MachineFacts,
): void {
  if (cgroupVersion === 1 && failCgroupV1) {
    throw new Error(
      "kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release",
    );
  }
  if (cgroupVersion === 1 && swapBehavior === "LimitedSwap") {
    throw new Error(
      "swap feature is enabled and LimitedSwap but it is only supported with cgroupv2",
    );
  }
  if (swapBytes > 0 && failSwapOn) {
    throw new Error(
      "running with swap on is not supported, please disable swap or set --fail-swap-on flag to false",
    );
  }
}

/** Pods together get no more than what the system's share leaves of the node. */
async function prepareCgroups(
  cgroups: Cgroups,
  config: KubeletConfig,
  { capacity }: NodeAmounts,
): Promise<void> {
  const { cgroupRoot, enforceNodeAllocatable, systemReserved, kubeReserved } = config;
  const { burstable, besteffort } = qosCgroups(cgroupRoot);
  await enforceReserved(cgroups, config);
  const limits = enforceNodeAllocatable.includes("pods")
    ? nodeCgroupLimits(allocatableOf(capacity, systemReserved, kubeReserved, {}))
    : {};
  await cgroups.ensure(kubepodsCgroup(cgroupRoot), limits);
  await cgroups.ensure(burstable, { cpuShares: 2 });
  await cgroups.ensure(besteffort, { cpuShares: 2 });
}

/** The cgroups of the system and of Kubernetes' own programs. They must be there already. */
async function enforceReserved(cgroups: Cgroups, config: KubeletConfig): Promise<void> {
  const { enforceNodeAllocatable: keys } = config;
  for (const [sort, name, amounts] of [
    ["system", config.systemReservedCgroup, config.systemReserved],
    ["kube", config.kubeReservedCgroup, config.kubeReserved],
  ] as const) {
    const isHard = keys.includes(`${sort}-reserved`);
    if (!isHard && !keys.includes(`${sort}-reserved-compressible`)) continue;
    if (!(await cgroups.exists(name))) {
      const title = sort === "system" ? "System" : "Kube";
      throw new Error(
        `Failed to enforce ${title} Reserved Cgroup Limits on "${name}": ["${name.replace(/^\//, "")}"] cgroup does not exist`,
      );
    }
    const { memoryLimitBytes, cpuShares } = nodeCgroupLimits(amounts);
    const hasMemory = isHard && amounts.memory !== undefined;
    await cgroups.ensure(name, {
      ...(amounts.cpu === undefined ? {} : { cpuShares }),
      ...(hasMemory && memoryLimitBytes !== undefined ? { memoryLimitBytes } : {}),
    });
  }
}
