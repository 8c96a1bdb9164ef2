/** Creates what pod workers share: images, volumes, statuses, probes, admission. Nothing runs yet. */
import type { Pod, Service } from "#api/generated/core.v1.ts";
import { readTextIfPresent } from "#host/files.ts";
import { parseResolvConf } from "#kubelet/decide/inputs/pod-dns.ts";
import { podCgroupName } from "#kubelet/decide/pod-cgroup.ts";
import { createPodImages } from "#kubelet/images/create-pod-images.ts";
import type { KubeletOptions } from "#kubelet/kubelet-options.ts";
import { createRuntimeHandlers } from "#kubelet/node/runtime-handlers.ts";
import { PodCertificates } from "#kubelet/objects/pod-certificates.ts";
import { PodTokens } from "#kubelet/objects/pod-tokens.ts";
import { TrustBundles } from "#kubelet/objects/trust-bundles.ts";
import { WatchedObjects } from "#kubelet/objects/watched-objects.ts";
import type { NodeFacts, PodServices } from "#kubelet/pods/pod-services.ts";
import type { PodWorkers } from "#kubelet/pods/pod-workers.ts";
import { RunIndex } from "#kubelet/pods/run-index.ts";
import { StatusManager } from "#kubelet/pods/status-manager.ts";
import { Probes } from "#kubelet/probes/probes.ts";
import { Allocations } from "#kubelet/resize/allocations.ts";
import { TerminationMessages } from "#kubelet/runtime/termination-message.ts";
import { createUserNamespaces } from "#kubelet/userns/create-user-namespaces.ts";
import { PodVolumes } from "#kubelet/volumes/pod-volumes.ts";
import { createAdmission } from "./create-admission.ts";
import type { NodeParts } from "./create-node-parts.ts";
import type { OpenedMachine } from "./open-machine.ts";

/** What the services read of the rest of the kubelet. */
export interface PodSurroundings {
  readonly opened: OpenedMachine;
  readonly node: NodeParts;
  readonly workers: PodWorkers;
  wake(uids: Iterable<string>): void;
  /** The pod as the API server has it: for a static pod its mirror. */
  apiPod(uid: string): Pod | undefined;
  services(): Iterable<Service>;
}

export async function createPodServices(
  options: KubeletOptions,
  surroundings: PodSurroundings,
  signal: AbortSignal,
): Promise<PodServices> {
  const { config, client, clock, random, logger } = options;
  const { opened, node, workers, wake } = surroundings;
  const { cri, paths, events, cgroups, measured } = opened;
  const { devices, dra, volumes: volumePlugins } = node.plugins;
  const watching = { client, clock, random, logger, onChange: wake };
  const objects = new WatchedObjects(watching, signal);
  const trustBundles = new TrustBundles(watching, signal);
  const nodeUid = (): string | undefined => node.keeper.node?.metadata.uid;
  const certificates = new PodCertificates(
    { ...watching, events, nodeName: config.nodeName, nodeUid },
    signal,
  );
  measured.pods.countCertificates(() => certificates.counts());
  const tokens = new PodTokens(client, clock);
  const allocations = new Allocations(config.rootDir, wake, (file, why) =>
    logger.warn("a checkpoint could not be written", { file, why }),
  );
  await allocations.load();
  const volumes = new PodVolumes(
    {
      ...{ client, clock, logger, objects, tokens, trustBundles, certificates },
      node: () => node.keeper.node,
    },
    paths,
    volumePlugins,
    measured.storage,
  );
  volumes.counts.show(measured.registry);
  return {
    ...{ clock, random, logger, events, objects, tokens, cgroups, paths, allocations, measured },
    ...{ devices, dra, resources: node.resources, runtime: cri.runtime },
    ...{ trustBundles, certificates, volumes, concurrentStarts: opened.concurrentStarts },
    index: new RunIndex(clock),
    images: await createPodImages({
      ...{ config, cri, clock, records: node.pullRecords, logger },
      builtInImages: options.builtInImages ?? new Map(),
      secret: (namespace, name) => objects.secret(namespace, name),
      onPulled: measured.pods.imagePulled,
      onPullTime: (uid, startMs, endMs) => opened.starts.pulled(uid, { startMs, endMs }),
    }),
    userNamespaces: await createUserNamespaces({
      ...{ paths, idsPerPod: config.userNamespaceIdsPerPod, podsMax: config.maxPods },
      handlers: () => node.watch.health.handlers,
    }),
    status: new StatusManager(
      {
        ...{ client, clock, random, logger, onSynced: measured.pods.statusSynced },
        apiPod: (uid) => surroundings.apiPod(uid),
        waitForTurn: (own) => opened.concurrentStarts.few(FIRST_STATUS_DELAY_MAX_MS, own),
      },
      signal,
    ),
    probes: new Probes({
      ...{ clock, random, events, runtime: cri.runtime },
      onChange: (uid) => workers.wake(uid),
    }),
    messages: new TerminationMessages(),
    admission: createAdmission(options, surroundings),
    node: nodeFacts(options, surroundings),
    services: () => surroundings.services(),
  };
}

/** So long the first status of a pod gives way to pods that are being started. */
const FIRST_STATUS_DELAY_MAX_MS = 5_000;

function nodeFacts(
  { config, client }: KubeletOptions,
  { opened, node: { watch } }: PodSurroundings,
): NodeFacts {
  const runtimeHandler = createRuntimeHandlers(client);
  return {
    name: config.nodeName,
    hostIps: opened.hostIps,
    allocatable: opened.amounts.allocatable,
    memoryCapacityBytes: opened.machine.memoryBytes,
    cfs: { isEnforced: config.cpuCfsQuota, periodUs: config.cpuCfsQuotaPeriodMs * 1000 },
    swap: {
      ...{ behavior: config.swapBehavior, cgroupVersion: opened.cgroups.version },
      hasController: opened.hasSwapController,
      memoryBytes: opened.machine.memoryBytes,
      swapBytes: opened.machine.swapBytes,
    },
    singleProcessOomKill: config.singleProcessOomKill,
    resolver: async () =>
      parseResolvConf(
        config.resolvConf === "" ? "" : ((await readTextIfPresent(config.resolvConf)) ?? ""),
      ),
    clusterDns: { servers: config.clusterDns, domain: config.clusterDomain },
    runtimeName: watch.health.version?.runtimeName ?? "containerd",
    podCgroup: (pod) => podCgroupName(config.cgroupRoot, pod),
    seccompDefault: config.seccompDefault,
    cpuReconcileMs: config.cpuManagerReconcileMs,
    crashBackoffMaxMs: config.crashBackoffMaxMs,
    cpuManagerPolicy: config.cpuManagerPolicy,
    memoryManagerPolicy: config.memoryManagerPolicy,
    podPidsLimit: config.podPidsLimit > 0 ? config.podPidsLimit : undefined,
    networkProblem: () => watch.health.networkProblem,
    runtimeHandler,
    canMountRecursiveReadOnly: async (pod) => {
      const handler = await runtimeHandler(pod);
      const found = watch.health.handlers.find(({ name }) => name === handler);
      return found?.features?.recursiveReadOnlyMounts ?? false;
    },
  };
}
