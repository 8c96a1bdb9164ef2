/**
 * The fields of KubeletConfiguration (kubelet.config.k8s.io/v1beta1): the Go type of each, as error
 * messages name it, and, for those that this kubelet acts on, the entry of KubeletConfig that it
 * sets. Fields without an entry change nothing; those that are given are named in a warning, but for
 * SILENT.
 */
import type { KubeletConfig } from "#kubelet/kubelet-config.ts";

export type ScalarType =
  | "string"
  | "bool"
  | "int32"
  | "int64"
  | "float64"
  /** A Go duration: `10s`. */
  | "duration"
  | "strings"
  | "map"
  /** Checked no further. */
  | "any";

export type FieldType = ScalarType | { readonly fields: Fields };

export interface Field {
  readonly type: FieldType;
  /** Durations are set in milliseconds. */
  readonly sets?: keyof KubeletConfig;
}

export type Fields = Readonly<Record<string, Field>>;

const string: Field = { type: "string" };
const bool: Field = { type: "bool" };
const int32: Field = { type: "int32" };
const duration: Field = { type: "duration" };
const map: Field = { type: "map" };

export const CONFIGURATION_FIELDS: Fields = {
  kind: string,
  apiVersion: string,
  enableServer: { type: "bool", sets: "enableServer" },
  staticPodPath: { type: "string", sets: "staticPodPath" },
  podLogsDir: { type: "string", sets: "podLogsDir" },
  syncFrequency: duration,
  fileCheckFrequency: { type: "duration", sets: "fileCheckMs" },
  httpCheckFrequency: { type: "duration", sets: "httpCheckMs" },
  staticPodURL: { type: "string", sets: "staticPodUrl" },
  staticPodURLHeader: { type: "map", sets: "staticPodUrlHeader" },
  address: { type: "string", sets: "address" },
  port: { type: "int32", sets: "port" },
  readOnlyPort: int32,
  tlsCertFile: { type: "string", sets: "tlsCertFile" },
  tlsPrivateKeyFile: { type: "string", sets: "tlsPrivateKeyFile" },
  tlsCipherSuites: { type: "strings", sets: "tlsCipherSuites" },
  tlsCurvePreferences: { type: "any" },
  tlsMinVersion: { type: "string", sets: "tlsMinVersion" },
  rotateCertificates: { type: "bool", sets: "rotateCertificates" },
  serverTLSBootstrap: { type: "bool", sets: "serverTlsBootstrap" },
  authentication: {
    type: {
      fields: {
        x509: { type: { fields: { clientCAFile: { type: "string", sets: "clientCaFile" } } } },
        webhook: {
          type: {
            fields: {
              enabled: { type: "bool", sets: "webhookAuthentication" },
              cacheTTL: { type: "duration", sets: "tokenCacheMs" },
            },
          },
        },
        anonymous: { type: { fields: { enabled: { type: "bool", sets: "anonymousAuth" } } } },
      },
    },
  },
  authorization: {
    type: {
      fields: {
        mode: { type: "string", sets: "authorizationMode" },
        webhook: {
          type: {
            fields: {
              cacheAuthorizedTTL: { type: "duration", sets: "authorizedCacheMs" },
              cacheUnauthorizedTTL: { type: "duration", sets: "unauthorizedCacheMs" },
            },
          },
        },
      },
    },
  },
  registryPullQPS: int32,
  registryBurst: int32,
  imagePullCredentialsVerificationPolicy: {
    type: "string",
    sets: "imagePullVerificationPolicy",
  },
  preloadedImagesVerificationAllowlist: { type: "strings", sets: "preloadedImagesAllowlist" },
  eventRecordQPS: int32,
  eventBurst: int32,
  enableDebuggingHandlers: { type: "bool", sets: "enableDebuggingHandlers" },
  enableContentionProfiling: bool,
  healthzPort: { type: "int32", sets: "healthzPort" },
  healthzBindAddress: { type: "string", sets: "healthzAddress" },
  oomScoreAdj: { type: "int32", sets: "oomScoreAdj" },
  clusterDomain: { type: "string", sets: "clusterDomain" },
  clusterDNS: { type: "strings", sets: "clusterDns" },
  streamingConnectionIdleTimeout: duration,
  nodeStatusUpdateFrequency: { type: "duration", sets: "nodeStatusUpdateMs" },
  nodeStatusReportFrequency: { type: "duration", sets: "nodeStatusReportMs" },
  nodeLeaseDurationSeconds: { type: "int32", sets: "leaseDurationSeconds" },
  imageMinimumGCAge: { type: "duration", sets: "imageMinimumGcAgeMs" },
  imageMaximumGCAge: { type: "duration", sets: "imageMaximumGcAgeMs" },
  imageGCHighThresholdPercent: { type: "int32", sets: "imageGcHighPercent" },
  imageGCLowThresholdPercent: { type: "int32", sets: "imageGcLowPercent" },
  volumeStatsAggPeriod: duration,
  kubeletCgroups: string,
  systemCgroups: string,
  cgroupRoot: { type: "string", sets: "cgroupRoot" },
  cgroupsPerQOS: bool,
  cgroupDriver: string,
  cpuManagerPolicy: { type: "string", sets: "cpuManagerPolicy" },
  singleProcessOOMKill: { type: "bool", sets: "singleProcessOomKill" },
  cpuManagerPolicyOptions: { type: "map", sets: "cpuManagerPolicyOptions" },
  cpuManagerReconcilePeriod: { type: "duration", sets: "cpuManagerReconcileMs" },
  memoryManagerPolicy: { type: "string", sets: "memoryManagerPolicy" },
  topologyManagerPolicy: { type: "string", sets: "topologyManagerPolicy" },
  topologyManagerScope: { type: "string", sets: "topologyManagerScope" },
  topologyManagerPolicyOptions: { type: "map", sets: "topologyManagerPolicyOptions" },
  qosReserved: map,
  runtimeRequestTimeout: duration,
  hairpinMode: string,
  maxPods: { type: "int32", sets: "maxPods" },
  podCIDR: string,
  podPidsLimit: { type: "int64", sets: "podPidsLimit" },
  resolvConf: { type: "string", sets: "resolvConf" },
  runOnce: bool,
  cpuCFSQuota: { type: "bool", sets: "cpuCfsQuota" },
  cpuCFSQuotaPeriod: { type: "duration", sets: "cpuCfsQuotaPeriodMs" },
  nodeStatusMaxImages: { type: "int32", sets: "nodeStatusMaxImages" },
  maxOpenFiles: { type: "int64" },
  contentType: string,
  kubeAPIQPS: int32,
  kubeAPIBurst: int32,
  serializeImagePulls: { type: "bool", sets: "serializeImagePulls" },
  maxParallelImagePulls: { type: "int32", sets: "maxParallelImagePulls" },
  evictionHard: { type: "map", sets: "evictionHard" },
  evictionSoft: { type: "map", sets: "evictionSoft" },
  evictionSoftGracePeriod: { type: "map", sets: "evictionSoftGracePeriod" },
  evictionPressureTransitionPeriod: { type: "duration", sets: "evictionPressureTransitionMs" },
  evictionMaxPodGracePeriod: { type: "int32", sets: "evictionMaxPodGraceSeconds" },
  evictionMinimumReclaim: { type: "map", sets: "evictionMinimumReclaim" },
  mergeDefaultEvictionSettings: { type: "bool", sets: "mergeDefaultEvictionSettings" },
  podsPerCore: { type: "int32", sets: "podsPerCore" },
  enableControllerAttachDetach: bool,
  protectKernelDefaults: bool,
  makeIPTablesUtilChains: bool,
  iptablesMasqueradeBit: int32,
  iptablesDropBit: int32,
  featureGates: map,
  failSwapOn: { type: "bool", sets: "failSwapOn" },
  memorySwap: { type: { fields: { swapBehavior: { type: "string", sets: "swapBehavior" } } } },
  containerLogMaxSize: { type: "string", sets: "containerLogMaxSize" },
  containerLogMaxFiles: { type: "int32", sets: "containerLogMaxFiles" },
  containerLogMaxWorkers: int32,
  containerLogMonitorInterval: { type: "duration", sets: "containerLogMonitorMs" },
  configMapAndSecretChangeDetectionStrategy: string,
  systemReserved: { type: "map", sets: "systemReserved" },
  kubeReserved: { type: "map", sets: "kubeReserved" },
  reservedSystemCPUs: { type: "string", sets: "reservedSystemCpus" },
  showHiddenMetricsForVersion: string,
  systemReservedCgroup: { type: "string", sets: "systemReservedCgroup" },
  kubeReservedCgroup: { type: "string", sets: "kubeReservedCgroup" },
  enforceNodeAllocatable: { type: "strings", sets: "enforceNodeAllocatable" },
  allowedUnsafeSysctls: { type: "strings", sets: "allowedUnsafeSysctls" },
  volumePluginDir: string,
  providerID: { type: "string", sets: "providerId" },
  kernelMemcgNotification: bool,
  logging: { type: "any" },
  enableSystemLogHandler: { type: "bool", sets: "enableSystemLogHandler" },
  enableSystemLogQuery: { type: "bool", sets: "enableSystemLogQuery" },
  shutdownGracePeriod: { type: "duration", sets: "shutdownGraceMs" },
  shutdownGracePeriodCriticalPods: { type: "duration", sets: "shutdownGraceCriticalMs" },
  shutdownGracePeriodByPodPriority: { type: "any", sets: "shutdownGraceByPriority" },
  crashLoopBackOff: {
    type: {
      fields: { maxContainerRestartPeriod: { type: "duration", sets: "crashBackoffMaxMs" } },
    },
  },
  reservedMemory: { type: "any", sets: "reservedMemory" },
  enableProfilingHandler: bool,
  enableDebugFlagsHandler: bool,
  seccompDefault: { type: "bool", sets: "seccompDefault" },
  memoryThrottlingFactor: { type: "float64" },
  memoryReservationPolicy: string,
  registerWithTaints: { type: "any", sets: "taints" },
  registerNode: { type: "bool", sets: "registerNode" },
  tracing: { type: "any" },
  localStorageCapacityIsolation: {
    type: "bool",
    sets: "localStorageCapacityIsolation",
  },
  containerRuntimeEndpoint: { type: "string", sets: "runtimeEndpoint" },
  imageServiceEndpoint: { type: "string", sets: "imageEndpoint" },
  failCgroupV1: { type: "bool", sets: "failCgroupV1" },
  userNamespaces: {
    type: { fields: { idsPerPod: { type: "int64", sets: "userNamespaceIdsPerPod" } } },
  },
};

/** Fields without an effect that say nothing about what the kubelet does, or are how it works anyway. */
export const SILENT: ReadonlySet<string> = new Set([
  ...["kind", "apiVersion", "contentType", "featureGates", "logging"],
  // Nothing polls here: changes are watched, and pods are looked at when something happens.
  ...["syncFrequency", "configMapAndSecretChangeDetectionStrategy", "volumeStatsAggPeriod"],
  ...["kernelMemcgNotification", "runtimeRequestTimeout", "streamingConnectionIdleTimeout"],
]);
