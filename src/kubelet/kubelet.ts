/**
 * The kubelet: one node. Wires its parts by hand (`assembly/`), starts them in order and lives until
 * the signal aborts. Containers are left running then; a kubelet that starts later finds them.
 */
import type { Node, NodeAddress, Pod, Service } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { quantityOf, quantityValue } from "#api/meta/quantity.ts";
import { Informer } from "#client/informer.ts";
import type { Cgroups } from "#host/cgroups.ts";
import { logind } from "#host/logind.ts";
import type { MachineFacts } from "#host/machine.ts";
import { signalForMany, untilAborted } from "#lib/async/aborted.ts";
import { createNodeParts, type NodeParts } from "./assembly/create-node-parts.ts";
import { createPodServices } from "./assembly/create-pod-services.ts";
import { type OpenedMachine, openMachine } from "./assembly/open-machine.ts";
import type { CriClient } from "./cri/cri-client.ts";
import type { KubeletOptions } from "./kubelet-options.ts";
import { runLogRotation } from "./maintenance/log-rotation.ts";
import {
  type OrphansOptions,
  removeDeadContainers,
  runOrphanSweep,
} from "./maintenance/orphans.ts";
import type { NodeKeeper } from "./node/node-keeper.ts";
import { runNodeLease } from "./node/node-lease.ts";
import { nodeAddresses } from "./node/node-state.ts";
import { runShutdownWatch } from "./node/shutdown-watch.ts";
import { runPodResourcesServer } from "./podresources/pod-resources-server.ts";
import type { PodServices } from "./pods/pod-services.ts";
import { PodWorkers } from "./pods/pod-workers.ts";
import type { StatusManager } from "./pods/status-manager.ts";
import type { Probes } from "./probes/probes.ts";
import { runContainerEvents } from "./runtime/container-events.ts";
import { isMirror } from "./static/static-pod.ts";
import { StaticPods } from "./static/static-pods.ts";
import type { PodVolumes } from "./volumes/pod-volumes.ts";

export interface RunningKubelet {
  /** Resolves when the node is registered and its pods are looked after. */
  readonly ready: Promise<void>;
  /** Resolves when it has ended, after the signal aborted. */
  readonly done: Promise<void>;
  /** Parts that the kubelet's server reads. Only after `ready`. */
  parts(): KubeletParts;
}

export interface KubeletParts {
  readonly cri: CriClient;
  readonly workers: PodWorkers;
  readonly status: StatusManager;
  readonly node: NodeKeeper;
  readonly cgroups: Cgroups;
  readonly machine: MachineFacts;
  readonly probes: Probes;
  readonly addresses: readonly NodeAddress[];
  readonly volumes: PodVolumes;
  /** Resolves when it has ended and no event waits any more. */
  readonly eventsSent: Promise<void>;
}

export function runKubelet(options: KubeletOptions, outer: AbortSignal): RunningKubelet {
  const signal = signalForMany(outer);
  let parts: KubeletParts | undefined;
  const ready = start(options, signal).then((started) => {
    parts = started;
  });
  const done = ready.then(
    async () => {
      await untilAborted(signal);
      await Promise.all([parts?.eventsSent, parts?.status.flushed()]);
      parts?.cri[Symbol.dispose]();
    },
    (error: unknown) => {
      if (!signal.aborted) throw error;
    },
  );
  return {
    ready,
    done,
    parts: () => {
      if (parts === undefined) throw new Error("the kubelet is not ready");
      return parts;
    },
  };
}

async function start(options: KubeletOptions, signal: AbortSignal): Promise<KubeletParts> {
  const { config } = options;
  const parts = await createParts(options, signal);
  const { opened, node, services, workers } = parts;
  const { keeper, shutdown } = node;
  countPods(parts);
  signal.addEventListener("abort", () => services.probes.close(), { once: true });
  void node.watch.run(signal);
  watchContainers(options, parts, signal);
  // Static pods do not wait for the API server: it may be one of them.
  if (config.staticPodPath !== "" || config.staticPodUrl !== "") {
    await parts.statics.read(signal);
    void parts.statics.run(signal);
  }
  await runNode(options, parts, signal);
  void servePodResources(options, parts, signal);
  await runPods(parts, signal);
  void runOrphanSweep(parts.orphans, signal);
  void node.imageCollector.run(signal);
  startLogRotation(options, parts, signal);
  const { clock, logger } = options;
  void runShutdownWatch({ logind, shutdown, clock, logger }, signal);
  options.logger.info("kubelet runs", { node: config.nodeName, pods: parts.pods.cache.size });
  const { cri, cgroups, machine, eventsSent } = opened;
  const { status, probes, volumes } = services;
  const addresses = nodeAddresses(config.nodeName, opened.hostIps);
  return {
    ...{ cri, workers, status, probes, cgroups, machine, addresses, volumes, eventsSent },
    node: keeper,
  };
}

interface Parts {
  readonly opened: OpenedMachine;
  readonly node: NodeParts;
  readonly workers: PodWorkers;
  readonly services: PodServices;
  readonly statics: StaticPods;
  readonly orphans: OrphansOptions;
  readonly pods: Informer<Pod>;
  readonly serviceInformer: Informer<Service>;
}

/** Creates the parts. They call each other only once they run. */
async function createParts(options: KubeletOptions, signal: AbortSignal): Promise<Parts> {
  const { config, client, clock, logger } = options;
  const opened = await openMachine(options, signal);
  const workers = new PodWorkers(signal);
  const wake = (uids: Iterable<string>): void => {
    for (const uid of uids) workers.wake(uid);
  };
  const podsOfNode = {
    ...{ workers, wake },
    removeDeadContainers: () => removeDeadContainers(orphans, true),
    statusesFlushed: () => services.status.flushed(),
  };
  const node = await createNodeParts(options, opened, podsOfNode, signal);
  await node.watch.check(signal);
  const pods = informer(options, podKind, { fieldSelector: `spec.nodeName=${config.nodeName}` });
  const serviceInformer = informer(options, serviceKind, {});
  const statics = new StaticPods({
    ...{ client, clock, logger, nodeName: config.nodeName, cache: pods.cache },
    ...{ folder: config.staticPodPath, checkMs: config.fileCheckMs },
    ...{ url: config.staticPodUrl, urlHeader: config.staticPodUrlHeader },
    urlCheckMs: config.httpCheckMs,
    nodeUid: () => node.keeper.node?.metadata.uid,
    onPod: (pod) => workers.update(pod, true),
    onRemoved: (pod) => workers.remove(pod),
    onMirrored: (uid) => services.status.resend(uid),
  });
  const surroundings = {
    ...{ opened, node, workers, wake },
    apiPod: (uid: string) => (statics.has(uid) ? statics.mirrorFor(uid) : pods.cache.byUid(uid)),
    services: () => serviceInformer.cache.list(),
  };
  const services = await createPodServices(options, surroundings, signal);
  workers.use(services);
  const { volumes, dra, runtime, paths, cgroups } = services;
  const orphans: OrphansOptions = {
    ...{ runtime, clock, logger, cgroups, cgroupRoot: config.cgroupRoot, paths, volumes, dra },
    hasPod: (uid) => workers.has(uid),
    isOver: (uid) => workers.has(uid) && !workers.isActive(uid),
  };
  return { opened, node, workers, services, statics, orphans, pods, serviceInformer };
}

/** The metrics page counts pods with the statuses that the kubelet has decided on. */
function countPods({ opened, workers, pods, services: { status } }: Parts): void {
  opened.measured.countOrigins({
    pods: () => workers.counted(),
    mirrors: () => [...pods.cache.list()].filter(isMirror).length,
  });
  opened.measured.countPods(() => podsWithStatus(workers, status));
}

/** With the statuses that the kubelet has decided on. */
function podsWithStatus(workers: PodWorkers, status: StatusManager): Pod[] {
  return workers.pods().map((pod) => {
    const current = status.get(pod.metadata.uid ?? "");
    return current === undefined ? pod : { ...pod, status: current };
  });
}

function watchContainers(
  { config, clock, random, logger }: KubeletOptions,
  { opened: { cri, measured }, services, workers }: Parts,
  signal: AbortSignal,
): void {
  const onChange = (id: string): void => {
    const uid = services.index.podOf(id);
    if (uid !== undefined) workers.wake(uid);
  };
  const unseen = (states: ReadonlyMap<string, number>): string[] => services.index.unseen(states);
  const endpoint = config.runtimeEndpoint;
  const metrics = measured.pleg;
  const parts = { cri, endpoint, clock, random, logger, metrics };
  void runContainerEvents({ ...parts, onChange, unseen }, signal);
}

/** Registers the node and keeps it up to date: status, lease, plug-ins, eviction. */
async function runNode(
  options: KubeletOptions,
  { node: { keeper, inUse, plugins, eviction } }: Parts,
  signal: AbortSignal,
): Promise<void> {
  const { config, client, clock, logger } = options;
  const { nodeName, leaseDurationSeconds: durationSeconds } = config;
  await keeper.register(signal);
  void keeper.run(signal);
  const ownNode = informer<Node>(options, nodeKind, { fieldSelector: `metadata.name=${nodeName}` });
  ownNode.on(({ next }) => {
    if (next === undefined) return;
    keeper.observe(next);
    inUse.observe(next);
  }, signal);
  void ownNode.run(signal);
  await plugins.run(signal);
  void eviction.run(signal);
  const nodeUid = (): string | undefined => keeper.node?.metadata.uid;
  void runNodeLease({ client, clock, logger, nodeName, durationSeconds, nodeUid }, signal);
}

/** A kubelet without the pod resources API is a good kubelet otherwise. */
async function servePodResources(
  { config, clock, logger }: KubeletOptions,
  { opened, node, workers }: Parts,
  signal: AbortSignal,
): Promise<void> {
  const { cpus, memory } = node.resources;
  const { devices, dra } = node.plugins;
  try {
    await runPodResourcesServer(
      {
        ...{ root: config.rootDir, clock, metrics: opened.measured.registry },
        sources: {
          exclusiveCpus: (uid, container) => cpus.exclusiveCpus(uid, container),
          memory: (uid, container) => memory.blocksOf(uid, container),
          devices: (uid, container) => devices.devicesOf(uid, container),
          dynamicResources: (pod, container) => dra.dynamicResources(pod, container),
        },
        activePods: () => workers.active(),
        allocatableCpus: () => cpus.allocatableCpus(),
        allocatableMemory: () => memory.allocatableBlocks(),
        allocatableDevices: () => devices.healthyDevices(),
      },
      signal,
    );
  } catch (error) {
    if (!signal.aborted) logger.error("Failed to start the pod resources API", { error });
  }
}

/** Follows the pods of the node. Resolves when those that exist have workers and others are ended. */
async function runPods(parts: Parts, signal: AbortSignal): Promise<void> {
  const { node, workers, services, pods, serviceInformer, statics } = parts;
  void serviceInformer.run(signal);
  await Promise.race([serviceInformer.synced, untilAborted(signal)]);
  pods.on(({ next, old }) => takePod(parts, next, old), signal);
  void pods.run(signal);
  await Promise.race([pods.synced, untilAborted(signal)]);
  statics.reconcile();
  await workers.endOrphans();
  const { cpus, memory } = node.resources;
  for (const holder of [services.allocations, services.devices, cpus, memory]) {
    holder.forgetOthers((uid) => workers.has(uid));
  }
}

function takePod(
  { workers, statics, opened: { starts } }: Parts,
  next: Pod | undefined,
  old: Pod | undefined,
): void {
  if (isMirror((next ?? old)!)) {
    statics.onMirror(next);
    return;
  }
  if (old !== undefined && next?.metadata.uid !== old.metadata.uid) {
    workers.remove(old);
    starts.forget(old.metadata.uid ?? "");
  }
  if (next === undefined) return;
  starts.observe(next);
  workers.update(next, false);
}

function startLogRotation(
  { config, clock, logger }: KubeletOptions,
  { workers, services: { runtime, paths, status } }: Parts,
  signal: AbortSignal,
): void {
  const bytesMax = quantityValue(quantityOf(config.containerLogMaxSize));
  if (bytesMax < 0) return;
  const { containerLogMaxFiles: filesMax, containerLogMonitorMs: checkMs } = config;
  const pods = (): Iterable<Pod> => podsWithStatus(workers, status);
  const limits = { bytesMax, filesMax, checkMs };
  void runLogRotation({ runtime, clock, logger, paths, pods, ...limits }, signal);
}

function informer<T extends Node | Pod | Service>(
  { client, clock, random, logger }: KubeletOptions,
  kind: ConstructorParameters<typeof Informer<T>>[0]["kind"],
  scope: { readonly fieldSelector?: string },
): Informer<T> {
  return new Informer<T>({ client, kind, clock, random, logger, ...scope });
}
