/**
 * Creates the parts that look after the node as a whole: its Node object, eviction, plug-ins,
 * resource managers, image collection, shutdown. Nothing runs yet.
 */
import { VolumesInUse } from "#kubelet/csi/volumes-in-use.ts";
import { withTag } from "#kubelet/decide/inputs/image-name.ts";
import { thresholdsOf } from "#kubelet/decide/node/eviction-thresholds.ts";
import { shutdownPeriods } from "#kubelet/decide/node/shutdown-groups.ts";
import { createPullRecords } from "#kubelet/images/create-pod-images.ts";
import type { PullRecords } from "#kubelet/images/pull-records.ts";
import type { KubeletOptions } from "#kubelet/kubelet-options.ts";
import { ImageCollector } from "#kubelet/maintenance/image-collector.ts";
import { writeCniConfig } from "#kubelet/network/write-cni-config.ts";
import { EvictionManager } from "#kubelet/node/eviction-manager.ts";
import { createEvictionMeasures, type EvictionMeasures } from "#kubelet/node/eviction-measures.ts";
import { NodeKeeper } from "#kubelet/node/node-keeper.ts";
import { NodeShutdown } from "#kubelet/node/node-shutdown.ts";
import { readNodeState } from "#kubelet/node/node-state.ts";
import { RuntimeWatch } from "#kubelet/node/runtime-watch.ts";
import { ShutdownState } from "#kubelet/node/shutdown-state.ts";
import { createNodePlugins, type NodePlugins } from "#kubelet/plugins/node-plugins.ts";
import type { PodWorkers } from "#kubelet/pods/pod-workers.ts";
import {
  createResourceManagers,
  type ResourceManagers,
} from "#kubelet/resources/create-resource-managers.ts";
import type { OpenedMachine } from "./open-machine.ts";

export interface NodeParts {
  readonly watch: RuntimeWatch;
  readonly keeper: NodeKeeper;
  readonly eviction: EvictionManager;
  readonly imageCollector: ImageCollector;
  readonly inUse: VolumesInUse;
  readonly plugins: NodePlugins;
  readonly resources: ResourceManagers;
  readonly shutdown: NodeShutdown;
  readonly pullRecords: PullRecords;
}

/** Parts of the pods that the node's parts call. They are created later. */
export interface PodsOfNode {
  readonly workers: PodWorkers;
  /** Makes the workers of these pods look again. */
  wake(uids: Iterable<string>): void;
  removeDeadContainers(): Promise<void>;
  /** Resolves when every status was sent. */
  statusesFlushed(): Promise<void>;
}

export async function createNodeParts(
  options: KubeletOptions,
  opened: OpenedMachine,
  pods: PodsOfNode,
  signal: AbortSignal,
): Promise<NodeParts> {
  const { config, client, clock, random, logger } = options;
  const { machine, cri } = opened;
  const { workers } = pods;
  const wakeNode = (): void => keeper.wake();
  const wakeAllPods = (): void =>
    pods.wake(workers.pods().map(({ metadata }) => metadata.uid ?? ""));
  const watch = new RuntimeWatch(cri.runtime, clock, () => {
    wakeNode();
    wakeAllPods();
  });
  const measures = createEvictionMeasures(cri, opened.paths);
  const pullRecords = createPullRecords(config, clock, logger);
  const imageCollector = createImageCollector(options, opened, measures, pullRecords, workers);
  const eviction = createEviction(options, opened, measures, {
    ...{ workers, onChange: wakeNode },
    reclaimDisk: async () => {
      await pods.removeDeadContainers();
      await imageCollector.removeUnused();
    },
  });
  const inUse = new VolumesInUse({ onChange: wakeNode, wake: (uids) => pods.wake(uids) });
  const plugins = createNodePlugins({
    ...{ client, clock, random, logger, inUse, nodeName: config.nodeName, root: config.rootDir },
    ...{ onRegistered: wakeAllPods, onAmounts: wakeNode, metrics: opened.measured.plugins },
  });
  await plugins.load();
  const { devices } = plugins;
  const resources = await createResourceManagers({
    ...{ config, machine, devices, clock, logger, metrics: opened.measured.managers },
    onShared: wakeAllPods,
  });
  const shutdownState = new ShutdownState(config.rootDir, logger, opened.measured.registry);
  await shutdownState.load();
  const shutdown = new NodeShutdown({
    ...{ workers, clock, logger, onNodeEvent: opened.nodeEvent },
    periods: shutdownPeriods(config),
    onTimes: (times) => shutdownState.store(times),
    onChange: wakeNode,
    flushed: () => pods.statusesFlushed(),
  });
  const parts = {
    ...{ watch, eviction, imageCollector, inUse, plugins, resources, shutdown, pullRecords },
  };
  const keeper = createKeeper(options, opened, parts, signal);
  return { ...parts, keeper };
}

function createKeeper(
  { config, client, clock, random, logger }: KubeletOptions,
  { machine, amounts, hostIps, cri, startup }: OpenedMachine,
  { watch, eviction, inUse, plugins, shutdown }: Omit<NodeParts, "keeper">,
  signal: AbortSignal,
): NodeKeeper {
  return new NodeKeeper({
    ...{ client, clock, random, logger, startup },
    register: config.registerNode,
    ...{ checkMs: config.nodeStatusUpdateMs, reportMs: config.nodeStatusReportMs },
    identity: {
      name: config.nodeName,
      hostname: config.nodeName,
      labels: config.nodeLabels,
      taints: config.taints,
      providerId: config.providerId,
      isUnschedulable: !config.registerSchedulable,
      architecture: machine.architecture,
    },
    state: () =>
      readNodeState(config, {
        ...{ machine, amounts, hostIps, cri, devices: plugins.devices },
        health: watch.health,
        pressures: eviction.pressures,
        volumesInUse: inUse.names(),
        isShuttingDown: shutdown.isShuttingDown,
      }),
    onPodCidrs: (podCidrs) => {
      writeCniConfig(config, podCidrs).then(
        (wrote) => {
          if (wrote) void watch.check(signal);
        },
        (error: unknown) => logger.error("the CNI configuration was not written", { error }),
      );
    },
  });
}

function createEviction(
  { config, clock, logger }: KubeletOptions,
  { events, nodeEvent, measured }: OpenedMachine,
  measures: EvictionMeasures,
  actions: {
    readonly workers: PodWorkers;
    reclaimDisk(): Promise<void>;
    onChange(): void;
  },
): EvictionManager {
  return new EvictionManager({
    ...{ clock, logger, events, measures },
    ...actions,
    thresholds: thresholdsOf(config),
    transitionMs: config.evictionPressureTransitionMs,
    maxPodGraceSeconds: config.evictionMaxPodGraceSeconds,
    enforceStorageLimits: config.localStorageCapacityIsolation,
    onNodeEvent: nodeEvent,
    onEvicted: measured.evicted,
  });
}

function createImageCollector(
  { config, clock, logger }: KubeletOptions,
  { cri, nodeEvent, measured }: OpenedMachine,
  { imageDisk }: EvictionMeasures,
  records: PullRecords,
  workers: PodWorkers,
): ImageCollector {
  return new ImageCollector({
    ...{ runtime: cri.runtime, images: cri.images, clock, logger, disk: imageDisk },
    ...{ onEvent: nodeEvent, onCollected: measured.pods.imageCollected },
    volumeImages: () =>
      workers
        .pods()
        .flatMap(({ spec }) => spec.volumes ?? [])
        .flatMap(({ image }) => (image?.reference === undefined ? [] : withTag(image.reference))),
    onListed: (refs, untilMs) => records.prune(refs, untilMs),
    policy: {
      highPercent: config.imageGcHighPercent,
      lowPercent: config.imageGcLowPercent,
      minimumAgeMs: config.imageMinimumGcAgeMs,
      maximumAgeMs: config.imageMaximumGcAgeMs,
    },
  });
}
