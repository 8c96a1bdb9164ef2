/** The kubelet's configuration record, made from flags and KubeletConfiguration. */
import type { Taint } from "#api/generated/core.v1.ts";
import type { ShutdownPeriod } from "./decide/node/shutdown-groups.ts";
import type { MemoryReservation } from "./decide/resources/reserved-memory.ts";
import type { CniSettings } from "./network/cni-config.ts";

export interface KubeletConfig {
  readonly nodeName: string;
  /** Found out unless given. */
  readonly nodeIps: readonly string[];
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly providerId: string;
  readonly registerNode: boolean;
  readonly registerSchedulable: boolean;
  /** `/var/lib/kubelet` */
  readonly rootDir: string;
  /** `/var/log/pods` */
  readonly podLogsDir: string;
  readonly runtimeEndpoint: string;
  readonly imageEndpoint: string;
  /** "/" or the cgroup below which all others are made. */
  readonly cgroupRoot: string;
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  /** "" for none. */
  readonly resolvConf: string;
  readonly maxPods: number;
  readonly systemReserved: Readonly<Record<string, string>>;
  readonly kubeReserved: Readonly<Record<string, string>>;
  /** By signal: `memory.available` is `100Mi`. */
  readonly evictionHard: Readonly<Record<string, string>>;
  readonly evictionPressureTransitionMs: number;
  /** Thresholds that count once they were crossed for their grace period. */
  readonly evictionSoft: Readonly<Record<string, string>>;
  /** By signal: `1m30s`. */
  readonly evictionSoftGracePeriod: Readonly<Record<string, string>>;
  /** The longest grace of a pod that is evicted for a soft threshold. */
  readonly evictionMaxPodGraceSeconds: number;
  /** How much more than the threshold must be free before a signal counts as resolved. */
  readonly evictionMinimumReclaim: Readonly<Record<string, string>>;
  /** Limits of ephemeral storage are enforced. */
  readonly localStorageCapacityIsolation: boolean;
  readonly imageGcHighPercent: number;
  readonly imageGcLowPercent: number;
  readonly imageMinimumGcAgeMs: number;
  /** 0: images do not age. */
  readonly imageMaximumGcAgeMs: number;
  /** A quantity of bytes; negative: logs are not rotated. */
  readonly containerLogMaxSize: string;
  readonly containerLogMaxFiles: number;
  readonly containerLogMonitorMs: number;
  /** Processes of one pod; negative: as many as the node allows. */
  readonly podPidsLimit: number;
  /** Kernel parameters beside the safe ones that pods may set: names, or patterns with * at the end. */
  readonly allowedUnsafeSysctls: readonly string[];
  /** Undefined: one after the other, unless maxParallelImagePulls is more than 1. */
  readonly serializeImagePulls: boolean | undefined;
  readonly maxParallelImagePulls: number | undefined;
  /** When pods need credentials for an image that is on the node already. */
  readonly imagePullVerificationPolicy: string;
  readonly preloadedImagesAllowlist: readonly string[];
  /** Of pods with a user namespace of their own. */
  readonly userNamespaceIdsPerPod: number;
  /** The longest back-off of a container that keeps ending. */
  readonly crashBackoffMaxMs: number;
  /** A CredentialProviderConfig and the folder of its programs; "" for none. */
  readonly credentialProviderConfig: string;
  readonly credentialProviderFolder: string;
  readonly staticPodPath: string;
  readonly fileCheckMs: number;
  /** "" for none. */
  readonly staticPodUrl: string;
  readonly staticPodUrlHeader: Readonly<Record<string, readonly string[]>>;
  readonly httpCheckMs: number;
  readonly cpuManagerPolicy: string;
  readonly cpuManagerPolicyOptions: Readonly<Record<string, string>>;
  /** A container whose CPUs could not be changed is tried again so often. */
  readonly cpuManagerReconcileMs: number;
  /** `0-1`: CPUs for the system, instead of the cpu of systemReserved and kubeReserved. */
  readonly reservedSystemCpus: string;
  /** Memory of the system by NUMA node, for the memory manager. */
  readonly reservedMemory: readonly MemoryReservation[];
  readonly memoryManagerPolicy: string;
  readonly topologyManagerPolicy: string;
  readonly topologyManagerScope: string;
  readonly topologyManagerPolicyOptions: Readonly<Record<string, string>>;
  readonly enableSystemLogQuery: boolean;
  /** How long the node's shutdown is held back for its pods; 0: it is not. */
  readonly shutdownGraceMs: number;
  /** The part of it that is left for critical pods. */
  readonly shutdownGraceCriticalMs: number;
  /** Instead of the two: times by the priority of pods. */
  readonly shutdownGraceByPriority: readonly ShutdownPeriod[];
  readonly leaseDurationSeconds: number;
  readonly port: number;
  /** That the kubelet's server listens on. */
  readonly address: string;
  /** "": a certificate of its own, or from the cluster with serverTlsBootstrap. */
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  /** `VersionTLS13`; "": the oldest that is spoken. */
  readonly tlsMinVersion: string;
  /** As Go names them; none: Node's choice. */
  readonly tlsCipherSuites: readonly string[];
  readonly serverTlsBootstrap: boolean;
  readonly rotateCertificates: boolean;
  /** The authority whose client certificates are believed; "": none. */
  readonly clientCaFile: string;
  readonly anonymousAuth: boolean;
  /** Webhook or AlwaysAllow. */
  readonly authorizationMode: string;
  readonly seccompDefault: boolean;
  /** The kubelet does not start on a machine with swap. */
  readonly failSwapOn: boolean;
  /** "", NoSwap or LimitedSwap. */
  readonly swapBehavior: string;
  /** The kubelet does not start on a machine with cgroups of version 1. */
  readonly failCgroupV1: boolean;
  /** Limits of cpu are enforced by the kernel, in periods of this length. */
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsQuotaPeriodMs: number;
  /** The kernel kills one process of a container that needs too much memory, not all of them. */
  readonly singleProcessOomKill: boolean;
  /** 0: only maxPods counts. */
  readonly podsPerCore: number;
  /** Signals that evictionHard leaves out keep their defaults. */
  readonly mergeDefaultEvictionSettings: boolean;
  /** -1: all. */
  readonly nodeStatusMaxImages: number;
  readonly nodeStatusUpdateMs: number;
  /** How often a status that did not change is written. */
  readonly nodeStatusReportMs: number;
  /** What of the node's resources is enforced by cgroups: pods, or none. */
  readonly enforceNodeAllocatable: readonly string[];
  readonly systemReservedCgroup: string;
  readonly kubeReservedCgroup: string;
  readonly enableServer: boolean;
  /** Logs, exec, attach, port-forward and the like are served. */
  readonly enableDebuggingHandlers: boolean;
  readonly enableSystemLogHandler: boolean;
  /** Bearer tokens are reviewed by the API server. */
  readonly webhookAuthentication: boolean;
  readonly tokenCacheMs: number;
  readonly authorizedCacheMs: number;
  readonly unauthorizedCacheMs: number;
  /** Of the kubelet itself. */
  readonly oomScoreAdj: number;
  /** Plain HTTP; 0: not served. */
  readonly healthzPort: number;
  readonly healthzAddress: string;
  /** Where a CNI configuration is written once the node has pod CIDRs; undefined: nowhere. */
  readonly cniConfDir: string | undefined;
  readonly cni: CniSettings;
}

export const DEFAULT_KUBELET_CONFIG: Omit<KubeletConfig, "nodeName"> = {
  nodeIps: [],
  nodeLabels: {},
  taints: [],
  providerId: "",
  registerNode: true,
  registerSchedulable: true,
  rootDir: "/var/lib/kubelet",
  podLogsDir: "/var/log/pods",
  runtimeEndpoint: "unix:///run/containerd/containerd.sock",
  imageEndpoint: "",
  cgroupRoot: "/",
  clusterDns: [],
  clusterDomain: "cluster.local",
  resolvConf: "/etc/resolv.conf",
  maxPods: 110,
  systemReserved: {},
  kubeReserved: {},
  evictionHard: {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
  },
  evictionPressureTransitionMs: 300_000,
  evictionSoft: {},
  evictionSoftGracePeriod: {},
  evictionMaxPodGraceSeconds: 0,
  evictionMinimumReclaim: {},
  localStorageCapacityIsolation: true,
  imageGcHighPercent: 85,
  imageGcLowPercent: 80,
  imageMinimumGcAgeMs: 120_000,
  imageMaximumGcAgeMs: 0,
  containerLogMaxSize: "10Mi",
  containerLogMaxFiles: 5,
  containerLogMonitorMs: 10_000,
  podPidsLimit: -1,
  allowedUnsafeSysctls: [],
  serializeImagePulls: undefined,
  maxParallelImagePulls: undefined,
  imagePullVerificationPolicy: "NeverVerifyPreloadedImages",
  preloadedImagesAllowlist: [],
  userNamespaceIdsPerPod: 65_536,
  crashBackoffMaxMs: 300_000,
  credentialProviderConfig: "",
  credentialProviderFolder: "",
  staticPodPath: "",
  fileCheckMs: 20_000,
  staticPodUrl: "",
  staticPodUrlHeader: {},
  httpCheckMs: 20_000,
  cpuManagerPolicy: "none",
  cpuManagerPolicyOptions: {},
  cpuManagerReconcileMs: 10_000,
  reservedSystemCpus: "",
  reservedMemory: [],
  memoryManagerPolicy: "None",
  topologyManagerPolicy: "none",
  topologyManagerScope: "container",
  topologyManagerPolicyOptions: {},
  enableSystemLogQuery: false,
  shutdownGraceMs: 0,
  shutdownGraceCriticalMs: 0,
  shutdownGraceByPriority: [],
  leaseDurationSeconds: 40,
  port: 10_250,
  address: "0.0.0.0",
  tlsCertFile: "",
  tlsPrivateKeyFile: "",
  tlsMinVersion: "",
  tlsCipherSuites: [],
  serverTlsBootstrap: false,
  rotateCertificates: false,
  clientCaFile: "",
  anonymousAuth: false,
  authorizationMode: "Webhook",
  seccompDefault: false,
  failSwapOn: true,
  swapBehavior: "",
  failCgroupV1: false,
  cpuCfsQuota: true,
  cpuCfsQuotaPeriodMs: 100,
  singleProcessOomKill: false,
  podsPerCore: 0,
  mergeDefaultEvictionSettings: false,
  nodeStatusMaxImages: 50,
  nodeStatusUpdateMs: 10_000,
  nodeStatusReportMs: 300_000,
  enforceNodeAllocatable: ["pods"],
  systemReservedCgroup: "",
  kubeReservedCgroup: "",
  enableServer: true,
  enableDebuggingHandlers: true,
  enableSystemLogHandler: true,
  webhookAuthentication: true,
  tokenCacheMs: 120_000,
  authorizedCacheMs: 300_000,
  unauthorizedCacheMs: 30_000,
  oomScoreAdj: -999,
  healthzPort: 10_248,
  healthzAddress: "127.0.0.1",
  cniConfDir: undefined,
  cni: {},
};
