/**
 * The features of this version by their stage, with upstream's defaults. What
 * is on is how this server behaves; flags change nothing about it.
 */
import type { Metrics } from "#lib/metrics.ts";

type Stage = "ALPHA" | "BETA" | "" | "DEPRECATED";

/** Names as one text each: they are many, and read once. Stable ones have no stage. */
const FEATURES: readonly (readonly [stage: Stage, on: boolean, names: string])[] = [
  [
    "",
    true,
    `
APIServerTracing AllowServiceExternalIPs AnonymousAuthConfigurableEndpoints AnyVolumeDataSource
AuthorizeNodeWithSelectors AuthorizeWithSelectors BtreeWatchCache CPUManagerPolicyOptions
CRDValidationRatcheting CSIServiceAccountTokenSecrets ConsistentListFromCache
CustomCPUCFSQuotaPeriod CustomResourceFieldSelectors DRAAdminAccess DRAPrioritizedList
DeclarativeValidation DisableAllocatorDualWrite DynamicResourceAllocation ExecProbeTimeout
ExternalServiceAccountTokenSigner ImageMaximumGCAge ImageVolume InOrderInformers
InPlacePodVerticalScaling InformerResourceVersion JobBackoffLimitPerIndex JobManagedBy
JobPodReplacementPolicy JobSuccessPolicy KubeletCgroupDriverFromCRI KubeletFineGrainedAuthz
KubeletPSI KubeletPodResourcesDynamicResources KubeletPodResourcesGet KubeletTracing
LogarithmicScaleDown MatchLabelKeysInPodAffinity MultiCIDRServiceAllocator
MutableCSINodeAllocatableCount MutatingAdmissionPolicy NFTablesProxyMode
NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap OrderedNamespaceDeletion
PodLifecycleSleepAction PodLifecycleSleepActionAllowZero PodObservedGenerationTracking
PodSchedulingReadiness PreferSameTrafficDistribution ProcMountType RecoverVolumeExpansionFailure
RecursiveReadOnlyMounts RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation
ResilientWatchCacheInitialization RetryGenerateName SELinuxChangePolicy
SELinuxMountReadWriteOncePod SchedulerQueueingHints SeparateTaintEvictionController
ServiceAccountTokenJTI ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation
ServiceAccountTokenPodNodeInfo SidecarContainers StreamingCollectionEncodingToJSON
StreamingCollectionEncodingToProtobuf StructuredAuthenticationConfiguration
SupplementalGroupsPolicy SystemdWatchdog TopologyManagerPolicyOptions UserNamespacesSupport
VolumeAttributesClass WinDSR WinOverlay
`,
  ],
  [
    "ALPHA",
    false,
    `
APIServingWithRoutine AllAlpha AllowUnsafeMalformedObjectDeletion CBORServingAndStorage
CPUManagerPolicyAlphaOptions CRIListStreaming CSIVolumeHealth ClientsAllowCBOR ClientsPreferCBOR
CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook
ContainerStopSignals ControllerManagerReleaseLeaderElectionLockOnExit
CrossNamespaceVolumeDataSource DRAListTypeAttributes DRANodeAllocatableResources
DRAResourcePoolStatus DRAWorkloadResourceClaims EventedPLEG GangScheduling GenericWorkload
HPAScaleToZero ImageVolumeWithDigest InPlacePodVerticalScalingExclusiveCPUs
InPlacePodVerticalScalingExclusiveMemory KubeletInUserNamespace LoggingAlphaOptions
ManifestBasedAdmissionControlConfig MemoryQoS MutablePVNodeAffinity NativeHistograms
PersistentVolumeClaimUnusedSinceTime PodAndContainerStatsFromCRI PodLevelResourceManagers
PodLogsQuerySplitStreams PodsAPI QOSReserved ReduceDefaultCrashLoopBackOffDecay
RuntimeClassInImageCriApi ShardedListAndWatch StorageCapacityScoring StorageVersionAPI
TaintTolerationComparisonOperators TopologyAwareWorkloadScheduling
TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport VolumeLimitScaling
WindowsCPUAndMemoryAffinity WorkloadAwarePreemption WorkloadWithJob
`,
  ],
  [
    "BETA",
    false,
    `
AllBeta ClusterTrustBundle ClusterTrustBundleProjection ConcurrentWatchObjectDecode
CoordinatedLeaderElection DRADeviceTaintRules LocalStorageCapacityIsolationFSQuotaMonitoring
MaxUnavailableStatefulSet PodCertificateRequest SELinuxMount SchedulerAsyncAPICalls
StorageVersionMigrator
`,
  ],
  [
    "BETA",
    true,
    `
APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth AtomicFIFO
AuthorizePodWebsocketUpgradeCreatePermission CPUManagerPolicyBetaOptions
CRDObservedGenerationTracking ClearingNominatedNodeNameAfterBinding ClientsAllowCARotation
ClientsAllowTLSCacheGC ComponentFlagz ComponentStatusz ConstrainedImpersonation
ContainerCheckpoint ContainerRestartRules ContextualLogging DRAConsumableCapacity
DRADeviceBindingConditions DRADeviceTaints DRAExtendedResource DRAPartitionableDevices
DRAResourceClaimDeviceStatus DRAResourceClaimGranularStatusAuthorization
DRASchedulerFilterTimeout DeclarativeValidationBeta DeploymentReplicaSetTerminatingReplicas
DetectCacheInconsistency EnvFiles ExtendWebSocketsToKubelet GracefulNodeShutdown
GracefulNodeShutdownBasedOnPodPriority HPAConfigurableTolerance HostnameOverride
InOrderInformersBatchProcess InPlacePodLevelResourcesVerticalScaling
InPlacePodVerticalScalingInitContainers KubeletCrashLoopBackOffMax
KubeletEnsureSecretPulledImages KubeletSeparateDiskGC
KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot LoggingBetaOptions
MatchLabelKeysInPodTopologySpread MatchLabelKeysInPodTopologySpreadSelectorMerge
MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs
NodeDeclaredFeatures NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching
PLEGOnDemandRelist PodDeletionCost PodLevelResources PodReadyToStartContainersCondition
PodTopologyLabelsAdmission PortForwardWebsockets PreventStaticPodAPIReferences
RelaxedServiceNameValidation ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile
RemoteRequestHeaderUID ResourceHealthStatus ResourceHealthStatusMessage
RestartAllContainersOnContainerExits RotateKubeletServerCertificate SchedulerAsyncPreemption
SchedulerPopFromBackoffQ ServiceAccountNodeAudienceRestriction SizeBasedListCostEstimate
StaleControllerConsistencyDaemonSet StaleControllerConsistencyJob
StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet
StatefulSetSemanticRevisionComparison StorageVersionHash StrictIPCIDRValidation
StructuredAuthenticationConfigurationEgressSelector
StructuredAuthenticationConfigurationJWKSMetrics TokenRequestServiceAccountUIDValidation
TopologyManagerPolicyBetaOptions TranslateStreamCloseWebsocketRequests
UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy UnlockWhileProcessingFIFO
WatchCacheInitializationPostStartHook WatchList WatchListClient WindowsGracefulNodeShutdown
`,
  ],
  [
    "DEPRECATED",
    false,
    `
AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests
AllowOverwriteTerminationGracePeriodSeconds ChangeContainerStatusOnKubeletRestart
DeclarativeValidationTakeover GitRepoVolumeDriver KMSv1 KubeletRegistrationGetOnExistsOnly
SeparateCacheWatchRPC WindowsHostNetwork
`,
  ],
  [
    "DEPRECATED",
    true,
    `
AggregatedDiscoveryRemoveBetaType DisableCPUQuotaWithExclusiveCPUs DisableNodeKubeProxyVersion
KubeletPodResourcesListUseActivePods ServiceCIDRStatusFieldWiping StorageNamespaceIndex
`,
  ],
];

/** Whether this version has a feature gate of that name. */
export function isFeature(name: string): boolean {
  return FEATURES.some(([, , names]) => names.split(/\s+/).includes(name)) && name !== "";
}

export function addFeatureMetrics(metrics: Metrics): void {
  const features = FEATURES.flatMap(([stage, on, names]) =>
    names
      .trim()
      .split(/\s+/)
      .map((name) => ({ labels: [name, stage], value: on ? 1 : 0 })),
  );
  features.sort((a, b) => (a.labels[0]! < b.labels[0]! ? -1 : 1));
  metrics.gaugesOf(
    {
      name: "kubernetes_feature_enabled",
      help: "Whether a feature of this version is on, 1 if so.",
      labels: ["name", "stage"],
    },
    () => features,
  );
}
