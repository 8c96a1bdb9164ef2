/** What pod workers share: the parts of the kubelet that carry out their decisions. */
import type { Pod, Service } from "#api/generated/core.v1.ts";
import type { Cgroups } from "#host/cgroups.ts";
import type { RuntimeService } from "#kubelet/cri/cri-client.ts";
import type { PodPlace } from "#kubelet/decide/inputs/downward-api.ts";
import type { ClusterDns, ResolverSettings } from "#kubelet/decide/inputs/pod-dns.ts";
import type { CfsQuota } from "#kubelet/decide/resources/cgroup-limits.ts";
import type { SwapSettings } from "#kubelet/decide/resources/swap.ts";
import type { DeviceManager } from "#kubelet/devices/device-manager.ts";
import type { DraManager } from "#kubelet/dra/dra-manager.ts";
import type { PodImages } from "#kubelet/images/pod-images.ts";
import type { KubeletMetrics } from "#kubelet/node/kubelet-metrics.ts";
import type { PodCertificates } from "#kubelet/objects/pod-certificates.ts";
import type { PodTokens } from "#kubelet/objects/pod-tokens.ts";
import type { TrustBundles } from "#kubelet/objects/trust-bundles.ts";
import type { WatchedObjects } from "#kubelet/objects/watched-objects.ts";
import type { Probes } from "#kubelet/probes/probes.ts";
import type { Allocations } from "#kubelet/resize/allocations.ts";
import type { ResourceManagers } from "#kubelet/resources/create-resource-managers.ts";
import type { TerminationMessages } from "#kubelet/runtime/termination-message.ts";
import type { UserNamespaces } from "#kubelet/userns/user-namespaces.ts";
import type { PodVolumes } from "#kubelet/volumes/pod-volumes.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Admission } from "./admission.ts";
import type { ConcurrentStarts } from "./concurrent-starts.ts";
import type { PodEvents } from "./pod-events.ts";
import type { PodPaths } from "./pod-paths.ts";
import type { RunIndex } from "./run-index.ts";
import type { StatusManager } from "./status-manager.ts";

export interface NodeFacts {
  readonly name: string;
  readonly hostIps: readonly string[];
  readonly allocatable: Readonly<Record<string, string>>;
  readonly memoryCapacityBytes: number;
  readonly cfs: CfsQuota;
  readonly swap: SwapSettings;
  readonly singleProcessOomKill: boolean;
  /** Of the machine; read again for each sandbox. */
  resolver(): Promise<ResolverSettings>;
  readonly clusterDns: ClusterDns;
  readonly runtimeName: string;
  /** Its cgroup: `/kubepods/burstable/podX`. */
  podCgroup(pod: Pod): string;
  readonly seccompDefault: boolean;
  /** A container whose CPUs could not be changed is tried again so often. */
  readonly cpuReconcileMs: number;
  /** The longest back-off of a container that keeps ending. */
  readonly crashBackoffMaxMs: number;
  readonly cpuManagerPolicy: string;
  readonly memoryManagerPolicy: string;
  /** Processes of one pod; undefined: as many as the node allows. */
  readonly podPidsLimit: number | undefined;
  /** Why pods cannot be given a network yet; undefined once they can. */
  networkProblem(): string | undefined;
  /** Whether the runtime can mount a tree read-only for a pod, other mounts below it included. */
  canMountRecursiveReadOnly(pod: Pod): Promise<boolean>;
  /** The handler of a RuntimeClass; throws when there is none of the name. */
  runtimeHandler(pod: Pod): Promise<string>;
}

export interface PodServices {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly runtime: RuntimeService;
  readonly images: PodImages;
  readonly volumes: PodVolumes;
  readonly userNamespaces: UserNamespaces;
  readonly objects: WatchedObjects;
  readonly tokens: PodTokens;
  readonly trustBundles: TrustBundles;
  readonly certificates: PodCertificates;
  readonly cgroups: Cgroups;
  readonly allocations: Allocations;
  readonly devices: DeviceManager;
  readonly dra: DraManager;
  readonly resources: Pick<ResourceManagers, "cpus" | "memory">;
  readonly status: StatusManager;
  readonly events: PodEvents;
  readonly concurrentStarts: ConcurrentStarts;
  readonly probes: Probes;
  readonly messages: TerminationMessages;
  readonly index: RunIndex;
  readonly admission: Admission;
  readonly node: NodeFacts;
  readonly paths: PodPaths;
  readonly measured: Pick<KubeletMetrics, "podWorker" | "podStarted" | "pods">;
  services(): Iterable<Service>;
}

export function placeOf(node: NodeFacts, podIps: readonly string[]): PodPlace {
  return { hostIps: node.hostIps, podIps, allocatable: node.allocatable };
}
