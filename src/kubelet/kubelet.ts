/**
 * The kubelet: one node. Wires its parts by hand and lives until the signal aborts. Containers are
 * left running then; a kubelet that starts later finds them.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Node, NodeAddress, Pod, Service } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { quantityOf, quantityValue } from "#api/meta/quantity.ts";
import type { Client } from "#client/client.ts";
import { ServerEventRecorder } from "#client/event-recorder.ts";
import { Informer } from "#client/informer.ts";
import { type Cgroups, openCgroups } from "#host/cgroups.ts";
import { listFolder, readTextIfPresent, writeFileWhole } from "#host/files.ts";
import { type MachineFacts, machineAddresses, readMachine } from "#host/machine.ts";
import { signalForMany, untilAborted } from "#lib/async/aborted.ts";
import type { Logger } from "#lib/logger.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { type CriClient, createCriClient } from "./cri/cri-client.ts";
import { VolumesInUse } from "./csi/volumes-in-use.ts";
import { parseResolvConf } from "./decide/inputs/pod-dns.ts";
import {
  type AdmissionInputs,
  type AdmissionVerdict,
  decideAdmission,
} from "./decide/node/admit-pod.ts";
import { thresholdsOf } from "./decide/node/eviction-thresholds.ts";
import type { NodeState, Pressures } from "./decide/node/node-status.ts";
import { kubepodsCgroup, podCgroupName, qosCgroups } from "./decide/pod-cgroup.ts";
import type { DeviceManager } from "./devices/device-manager.ts";
import { type ImportImage, withBuiltInImages } from "./images/built-in-images.ts";
import { CredentialProviders, readCredentialProviders } from "./images/credential-providers.ts";
import { PodImages } from "./images/pod-images.ts";
import type { KubeletConfig } from "./kubelet-config.ts";
import { ImageCollector } from "./maintenance/image-collector.ts";
import { runLogRotation } from "./maintenance/log-rotation.ts";
import {
  type OrphansOptions,
  removeDeadContainers,
  runOrphanSweep,
} from "./maintenance/orphans.ts";
import { CNI_CONFIG_NAME, cniConfig } from "./network/cni-config.ts";
import { EvictionManager } from "./node/eviction-manager.ts";
import { createEvictionMeasures, type EvictionMeasures } from "./node/eviction-measures.ts";
import { addKubeletMetrics, measuredCgroups } from "./node/kubelet-metrics.ts";
import { type NodeAmounts, nodeAmounts } from "./node/node-amounts.ts";
import { type NodeEvent, nodeEventsOf } from "./node/node-events.ts";
import { NodeKeeper } from "./node/node-keeper.ts";
import { runNodeLease } from "./node/node-lease.ts";
import { NodeShutdown } from "./node/node-shutdown.ts";
import { runtimeHandlerOf } from "./node/runtime-handlers.ts";
import { RuntimeWatch } from "./node/runtime-watch.ts";
import { PodTokens } from "./objects/pod-tokens.ts";
import { WatchedObjects } from "./objects/watched-objects.ts";
import { createNodePlugins } from "./plugins/node-plugins.ts";
import { createPodEvents } from "./pods/pod-events.ts";
import type { NodeFacts, PodServices } from "./pods/pod-services.ts";
import { PodWorkers } from "./pods/pod-workers.ts";
import { RunIndex } from "./pods/run-index.ts";
import { StatusManager } from "./pods/status-manager.ts";
import { Probes } from "./probes/probes.ts";
import { Allocations } from "./resize/allocations.ts";
import { createResourceManagers } from "./resources/create-resource-managers.ts";
import { runContainerEvents } from "./runtime/container-events.ts";
import { TerminationMessages } from "./runtime/termination-message.ts";
import { isMirror } from "./static/static-pod.ts";
import { StaticPods } from "./static/static-pods.ts";
import { PodVolumes } from "./volumes/pod-volumes.ts";

/** What the node says it is. */
const KUBELET_VERSION = "v1.36.4";

export interface KubeletOptions {
  readonly config: KubeletConfig;
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Shows what the kubelet measures. */
  readonly metrics?: Metrics;
  /** By name: images that are made here instead of pulled. */
  readonly builtInImages?: ReadonlyMap<string, ImportImage>;
}

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
  readonly shutdown: NodeShutdown;
  readonly addresses: readonly NodeAddress[];
  readonly volumes: PodVolumes;
}

export function runKubelet(options: KubeletOptions, outer: AbortSignal): RunningKubelet {
  const signal = signalForMany(outer);
  let parts: KubeletParts | undefined;
  const ready = start(options, signal).then((started) => {
    parts = started;
  });
  const done = ready.then(
    () => untilAborted(signal).then(() => parts?.cri[Symbol.dispose]()),
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
  const { config, client, clock, random, logger } = options;
  await mkdir(join(config.rootDir, "pods"), { recursive: true });
  const measured = addKubeletMetrics(options.metrics, config.nodeName, clock);
  const [ownCgroups, machine] = await Promise.all([openCgroups(clock), readMachine()]);
  const cgroups = measuredCgroups(ownCgroups, measured.cgroup);
  const { runtimeEndpoint, imageEndpoint } = config;
  const cri = createCriClient({
    endpoint: runtimeEndpoint,
    measure: measured.runtimeOperation,
    ...(imageEndpoint === "" ? {} : { imageEndpoint }),
  });
  const amounts = await nodeAmounts(machine, config);
  await prepareCgroups(cgroups, config);
  const hostIps =
    config.nodeIps.length > 0 ? config.nodeIps : (await machineAddresses()).slice(0, 1);

  const recorder = new ServerEventRecorder(client, clock, logger, config.nodeName);
  void recorder.run(signal);
  const events = createPodEvents(recorder);
  const watch = new RuntimeWatch(cri.runtime, clock, () => {
    keeper.wake();
    for (const pod of workers.pods()) workers.wake(pod.metadata.uid ?? "");
  });
  const workers = new PodWorkers(signal);
  const paths = { root: config.rootDir, logs: config.podLogsDir };
  const measures = createEvictionMeasures(cri, paths);
  const nodeEvent = nodeEventsOf(recorder, config.nodeName);
  const imageCollector = createImageCollector(options, cri, measures, nodeEvent);
  const eviction = new EvictionManager({
    ...{ clock, logger, events, workers, measures },
    thresholds: thresholdsOf(config),
    transitionMs: config.evictionPressureTransitionMs,
    maxPodGraceSeconds: config.evictionMaxPodGraceSeconds,
    enforceStorageLimits: config.localStorageCapacityIsolation,
    reclaimDisk: async () => {
      await removeDeadContainers(orphans, true);
      await imageCollector.removeUnused();
    },
    onNodeEvent: nodeEvent,
    onEvicted: measured.evicted,
    onChange: () => keeper.wake(),
  });
  const isShuttingDown = (): boolean => shutdown.isShuttingDown;
  const onUids = (uids: Iterable<string>): void => {
    for (const uid of uids) workers.wake(uid);
  };
  const inUse = new VolumesInUse({ onChange: () => keeper.wake(), wake: onUids });
  const plugins = createNodePlugins({
    ...{ client, clock, random, logger, inUse, nodeName: config.nodeName, root: config.rootDir },
    onRegistered: () => onUids(workers.pods().map(({ metadata }) => metadata.uid ?? "")),
    onAmounts: () => keeper.wake(),
  });
  await plugins.load();
  const { devices, dra } = plugins;
  const resources = await createResourceManagers({
    ...{ config, machine, devices, logger },
    onShared: () => onUids(workers.pods().map(({ metadata }) => metadata.uid ?? "")),
  });
  const machinery = {
    machine,
    amounts,
    hostIps,
    watch,
    cri,
    eviction,
    isShuttingDown,
    inUse,
    devices,
  };
  const keeper = createKeeper(options, machinery, signal);
  await watch.check(signal);
  const pods = informer(options, podKind, { fieldSelector: `spec.nodeName=${config.nodeName}` });
  const serviceInformer = informer(options, serviceKind, {});
  const objects = new WatchedObjects({ client, clock, random, logger, onChange: onUids }, signal);
  const tokens = new PodTokens(client, clock);
  const statics = new StaticPods({
    ...{ client, clock, logger, nodeName: config.nodeName, cache: pods.cache },
    ...{ folder: config.staticPodPath, checkMs: config.fileCheckMs },
    ...{ url: config.staticPodUrl, urlHeader: config.staticPodUrlHeader },
    urlCheckMs: config.httpCheckMs,
    nodeUid: () => keeper.node?.metadata.uid,
    onPod: (pod) => workers.update(pod, true),
    onRemoved: (pod) => workers.remove(pod),
    onMirrored: (uid) => services.status.resend(uid),
  });
  const index = new RunIndex();
  const providers = await credentialProviders(options);
  const allocations = new Allocations(config.rootDir, onUids);
  await allocations.load();
  const admissionInputs = (pod: Pod, pressures: Pressures): AdmissionInputs => ({
    ...{ pod, pressures, node: keeper.node },
    allocatable: { ...amounts.allocatable, ...devices.allocatable() },
    others: workers.active().filter((one) => one.metadata.uid !== pod.metadata.uid),
  });
  const services: PodServices = {
    ...{ clock, random, logger, events, objects, tokens, cgroups, paths, index, allocations },
    ...{ devices, dra, resources },
    runtime: cri.runtime,
    images: new PodImages({
      ...{
        images: withBuiltInImages(cri.images, options.builtInImages ?? new Map()),
        events,
        clock,
      },
      secret: (namespace, name) => objects.secret(namespace, name),
      ...(providers === undefined
        ? {}
        : { provided: (image: string) => providers.credentialsFor(image) }),
    }),
    volumes: new PodVolumes(
      { client, clock, objects, tokens },
      paths,
      plugins.volumes,
      measured.storage,
    ),
    measured,
    status: new StatusManager(
      {
        ...{ client, clock, random, logger },
        apiPod: (uid) => (statics.has(uid) ? statics.mirrorFor(uid) : pods.cache.byUid(uid)),
      },
      signal,
    ),
    probes: new Probes({
      ...{ clock, random, events, runtime: cri.runtime },
      onChange: (uid) => workers.wake(uid),
    }),
    messages: new TerminationMessages(),
    admission: {
      admit: async (pod) => {
        if (shutdown.isShuttingDown) return SHUTTING_DOWN;
        const verdict = decideAdmission(admissionInputs(pod, eviction.pressures));
        return verdict.admitted ? resources.topology.admit(pod) : verdict;
      },
      resize: (pod) => decideAdmission(admissionInputs(pod, NO_PRESSURE)),
    },
    node: nodeFacts(options, machinery),
    services: (): Iterable<Service> => serviceInformer.cache.list(),
  };
  workers.use(services);
  const { status: statuses } = services;
  measured.countPods(() =>
    workers.pods().map((pod) => {
      const status = statuses.get(pod.metadata.uid ?? "");
      return status === undefined ? pod : { ...pod, status };
    }),
  );
  const shutdown = new NodeShutdown({
    ...{ workers, clock, logger, onNodeEvent: nodeEvent },
    shutdownGraceMs: config.shutdownGraceMs,
    shutdownGraceCriticalMs: config.shutdownGraceCriticalMs,
    onChange: () => keeper.wake(),
    flushed: () => services.status.flushed(),
  });
  const orphans: OrphansOptions = {
    ...{ runtime: cri.runtime, clock, logger, cgroups, cgroupRoot: config.cgroupRoot, paths },
    ...{ volumes: services.volumes, dra },
    hasPod: (uid) => workers.has(uid),
    isOver: (uid) => workers.has(uid) && !workers.isActive(uid),
  };
  signal.addEventListener("abort", () => services.probes.close(), { once: true });
  void watch.run(signal);
  const eventOptions = { cri, endpoint: runtimeEndpoint, clock, random, logger };
  void runContainerEvents(
    {
      ...eventOptions,
      onChange: (id) => {
        const uid = index.podOf(id);
        if (uid !== undefined) workers.wake(uid);
      },
    },
    signal,
  );
  // Static pods do not wait for the API server: it may be one of them.
  if (config.staticPodPath !== "" || config.staticPodUrl !== "") {
    await statics.read(signal);
    void statics.run(signal);
  }
  await keeper.register(signal);
  void keeper.run(signal);
  const ownNode = informer<Node>(options, nodeKind, {
    fieldSelector: `metadata.name=${config.nodeName}`,
  });
  ownNode.on(({ next }) => {
    if (next === undefined) return;
    keeper.observe(next);
    inUse.observe(next);
  }, signal);
  void ownNode.run(signal);
  await plugins.run(signal);
  void eviction.run(signal);
  const { nodeName, leaseDurationSeconds: durationSeconds } = config;
  const nodeUid = (): string | undefined => keeper.node?.metadata.uid;
  void runNodeLease({ client, clock, logger, nodeName, durationSeconds, nodeUid }, signal);
  void serviceInformer.run(signal);
  await Promise.race([serviceInformer.synced, untilAborted(signal)]);
  pods.on(({ next, old }) => takePod(workers, statics, next, old), signal);
  void pods.run(signal);
  await Promise.race([pods.synced, untilAborted(signal)]);
  statics.reconcile();
  await workers.endOrphans();
  allocations.forgetOthers((uid) => workers.has(uid));
  devices.forgetOthers((uid) => workers.has(uid));
  resources.cpus.forgetOthers((uid) => workers.has(uid));
  resources.memory.forgetOthers((uid) => workers.has(uid));
  void runOrphanSweep(orphans, signal);
  void imageCollector.run(signal);
  startLogRotation(options, cri, signal);
  logger.info("kubelet runs", { node: nodeName, pods: pods.cache.size });
  const { status, probes, volumes } = services;
  const addresses = addressesOf(config.nodeName, hostIps);
  return {
    cri,
    workers,
    status,
    probes,
    shutdown,
    node: keeper,
    cgroups,
    machine,
    addresses,
    volumes,
  };
}

function takePod(
  workers: PodWorkers,
  statics: StaticPods,
  next: Pod | undefined,
  old: Pod | undefined,
): void {
  if (isMirror((next ?? old)!)) {
    statics.onMirror(next);
    return;
  }
  if (old !== undefined && next?.metadata.uid !== old.metadata.uid) workers.remove(old);
  if (next !== undefined) workers.update(next, false);
}

/** Read once before orphans are looked for: a static pod that runs already is none. */
interface Machinery {
  readonly machine: MachineFacts;
  readonly amounts: NodeAmounts;
  readonly hostIps: readonly string[];
  readonly watch: RuntimeWatch;
  readonly cri: CriClient;
  readonly eviction: EvictionManager;
  readonly inUse: VolumesInUse;
  readonly devices: DeviceManager;
  isShuttingDown(): boolean;
}

function nodeFacts(
  { config, client }: KubeletOptions,
  { machine, amounts, hostIps, watch }: Machinery,
): NodeFacts {
  return {
    name: config.nodeName,
    hostIps,
    allocatable: amounts.allocatable,
    memoryCapacityBytes: machine.memoryBytes,
    resolver: async () =>
      parseResolvConf(
        config.resolvConf === "" ? "" : ((await readTextIfPresent(config.resolvConf)) ?? ""),
      ),
    clusterDns: { servers: config.clusterDns, domain: config.clusterDomain },
    runtimeName: watch.health.version?.runtimeName ?? "containerd",
    podCgroup: (pod) => podCgroupName(config.cgroupRoot, pod),
    seccompDefault: config.seccompDefault,
    cpuReconcileMs: config.cpuManagerReconcileMs,
    cpuManagerPolicy: config.cpuManagerPolicy,
    memoryManagerPolicy: config.memoryManagerPolicy,
    podPidsLimit: config.podPidsLimit > 0 ? config.podPidsLimit : undefined,
    networkProblem: () => watch.health.networkProblem,
    runtimeHandler: (pod) => runtimeHandlerOf(client, pod),
  };
}

function createKeeper(
  { config, client, clock, random, logger }: KubeletOptions,
  machinery: Machinery,
  signal: AbortSignal,
): NodeKeeper {
  const { machine, watch } = machinery;
  return new NodeKeeper({
    ...{ client, clock, random, logger },
    register: config.registerNode,
    identity: {
      name: config.nodeName,
      hostname: config.nodeName,
      labels: config.nodeLabels,
      taints: config.taints,
      providerId: config.providerId,
      isUnschedulable: !config.registerSchedulable,
      architecture: machine.architecture,
    },
    state: () => nodeState(config, machinery),
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

async function nodeState(config: KubeletConfig, machinery: Machinery): Promise<NodeState> {
  const { machine, amounts, hostIps, watch, cri } = machinery;
  const { health } = watch;
  const { runtimeName = "containerd", runtimeVersion = "" } = health.version ?? {};
  const images = await cri.images.listImages({}).catch(() => ({ images: [] }));
  const ending = machinery.isShuttingDown() ? "node is shutting down" : undefined;
  const problems = [health.runtimeProblem, health.networkProblem, ending].filter(
    (one) => one !== undefined,
  );
  return {
    addresses: addressesOf(config.nodeName, hostIps),
    capacity: { ...amounts.capacity, ...machinery.devices.capacity() },
    allocatable: { ...amounts.allocatable, ...machinery.devices.allocatable() },
    port: config.port,
    nodeInfo: {
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
    },
    images: [...images.images]
      .sort((a, b) => b.size - a.size)
      .slice(0, IMAGES_MAX)
      .map(({ repoDigests, repoTags, size }) => ({
        names: [...repoDigests, ...repoTags].slice(0, IMAGE_NAMES_MAX),
        sizeBytes: size,
      })),
    runtimeHandlers: health.handlers.map(({ name, features }) => ({
      name,
      features: {
        recursiveReadOnlyMounts: features?.recursiveReadOnlyMounts ?? false,
        userNamespaces: features?.userNamespaces ?? false,
      },
    })),
    supplementalGroupsPolicy: health.supplementalGroupsPolicy,
    volumesInUse: machinery.inUse.names(),
    pressures: machinery.eviction.pressures,
    problems: [...new Set(problems)],
  };
}

function addressesOf(nodeName: string, hostIps: readonly string[]): readonly NodeAddress[] {
  return [
    ...hostIps.map((address) => ({ type: "InternalIP" as const, address })),
    { type: "Hostname", address: nodeName },
  ];
}

const SHUTTING_DOWN: AdmissionVerdict = {
  admitted: false,
  reason: "NodeShutdown",
  message: "Pod was rejected as the node is shutting down.",
};
/** Pods that run are resized under pressure too. */
const NO_PRESSURE: Pressures = { memory: false, disk: false, pid: false };
const IMAGES_MAX = 50;
const IMAGE_NAMES_MAX = 5;

/** Nothing is written where another network is installed. */
async function writeCniConfig(
  { cniConfDir: folder, cni }: KubeletConfig,
  podCidrs: readonly string[],
): Promise<boolean> {
  if (folder === undefined) return false;
  const others = (await listFolder(folder)).filter(
    (name) => name !== CNI_CONFIG_NAME && /\.conf(list)?$/.test(name),
  );
  if (others.length > 0) return false;
  const path = join(folder, CNI_CONFIG_NAME);
  const content = cniConfig({ ...cni, podCidrs });
  if ((await readTextIfPresent(path)) === content) return false;
  await writeFileWhole(path, content);
  return true;
}

async function prepareCgroups(cgroups: Cgroups, { cgroupRoot }: KubeletConfig): Promise<void> {
  const { burstable, besteffort } = qosCgroups(cgroupRoot);
  await cgroups.ensure(kubepodsCgroup(cgroupRoot), {});
  await cgroups.ensure(burstable, { cpuShares: 2 });
  await cgroups.ensure(besteffort, { cpuShares: 2 });
}

async function credentialProviders({
  config,
  clock,
  logger,
}: KubeletOptions): Promise<CredentialProviders | undefined> {
  const { credentialProviderConfig: file, credentialProviderFolder: folder } = config;
  if (file === "") return undefined;
  const providers = await readCredentialProviders(file);
  return new CredentialProviders({ providers, folder, clock, logger });
}

function createImageCollector(
  { config, clock, logger }: KubeletOptions,
  cri: CriClient,
  { imageDisk }: EvictionMeasures,
  onEvent: NodeEvent,
): ImageCollector {
  return new ImageCollector({
    ...{ runtime: cri.runtime, images: cri.images, clock, logger, disk: imageDisk, onEvent },
    policy: {
      highPercent: config.imageGcHighPercent,
      lowPercent: config.imageGcLowPercent,
      minimumAgeMs: config.imageMinimumGcAgeMs,
      maximumAgeMs: config.imageMaximumGcAgeMs,
    },
  });
}

function startLogRotation(
  { config, clock, logger }: KubeletOptions,
  { runtime }: CriClient,
  signal: AbortSignal,
): void {
  const bytesMax = quantityValue(quantityOf(config.containerLogMaxSize));
  if (bytesMax < 0) return;
  const { containerLogMaxFiles: filesMax, containerLogMonitorMs: checkMs } = config;
  const logsFolder = config.podLogsDir;
  void runLogRotation({ runtime, clock, logger, logsFolder, bytesMax, filesMax, checkMs }, signal);
}

function informer<T extends Node | Pod | Service>(
  { client, clock, random, logger }: KubeletOptions,
  kind: ConstructorParameters<typeof Informer<T>>[0]["kind"],
  scope: { readonly fieldSelector?: string },
): Informer<T> {
  return new Informer<T>({ client, kind, clock, random, logger, ...scope });
}
