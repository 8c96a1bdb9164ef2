/** Structs whose internal declaration differs from the served one: for error messages only. */

/** Makes the internal form itself; `form` is for what lies below. */
type InternalShape = (value: unknown, form: (type: string, value: unknown) => unknown) => unknown;

/** Another order or other names: every Go name in order, `Internal=Derived` where they differ. */
export const INTERNAL_FIELDS: Readonly<Record<string, string>> = {
  "admissionregistration.v1.ValidatingAdmissionPolicySpec":
    "ParamKind MatchConstraints Validations MatchConditions FailurePolicy AuditAnnotations Variables",
  "apiextensions.v1.JSONSchemaProps":
    "ID Schema=$schema Ref=$ref Description Type Nullable Format Title Default Maximum " +
    "ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems " +
    "UniqueItems MultipleOf Enum MaxProperties MinProperties Required Items AllOf OneOf AnyOf Not " +
    "Properties AdditionalProperties PatternProperties Dependencies AdditionalItems Definitions " +
    "ExternalDocs Example XPreserveUnknownFields=X-kubernetes-preserve-unknown-fields " +
    "XEmbeddedResource=X-kubernetes-embedded-resource XIntOrString=X-kubernetes-int-or-string " +
    "XListMapKeys=X-kubernetes-list-map-keys XListType=X-kubernetes-list-type " +
    "XMapType=X-kubernetes-map-type XValidations=X-kubernetes-validations",
  "autoscaling.v2.ContainerResourceMetricSource": "Name Container Target",
  "autoscaling.v2.ContainerResourceMetricStatus": "Name Container Current",
  "batch.v1.JobSpec":
    "Parallelism Completions PodFailurePolicy SuccessPolicy ActiveDeadlineSeconds BackoffLimit " +
    "BackoffLimitPerIndex MaxFailedIndexes Selector ManualSelector Template " +
    "TTLSecondsAfterFinished CompletionMode Suspend PodReplacementPolicy ManagedBy",
  "core.v1.AzureDiskVolumeSource": "DiskName DataDiskURI=DiskURI CachingMode FSType ReadOnly Kind",
  "core.v1.FCVolumeSource": "TargetWWNs Lun FSType ReadOnly WWIDs=Wwids",
  "core.v1.GlusterfsPersistentVolumeSource":
    "EndpointsName=Endpoints Path ReadOnly EndpointsNamespace",
  "core.v1.GlusterfsVolumeSource": "EndpointsName=Endpoints Path ReadOnly",
  "core.v1.ISCSIPersistentVolumeSource":
    "TargetPortal IQN Lun ISCSIInterface FSType ReadOnly Portals " +
    "DiscoveryCHAPAuth=ChapAuthDiscovery SessionCHAPAuth=ChapAuthSession SecretRef InitiatorName",
  "core.v1.ISCSIVolumeSource":
    "TargetPortal IQN Lun ISCSIInterface FSType ReadOnly Portals " +
    "DiscoveryCHAPAuth=ChapAuthDiscovery SessionCHAPAuth=ChapAuthSession SecretRef InitiatorName",
  "core.v1.PersistentVolumeSource":
    "GCEPersistentDisk AWSElasticBlockStore=AwsElasticBlockStore HostPath Glusterfs NFS RBD " +
    "Quobyte ISCSI FlexVolume Cinder CephFS=Cephfs FC Flocker AzureFile VsphereVolume AzureDisk " +
    "PhotonPersistentDisk PortworxVolume ScaleIO Local StorageOS=Storageos CSI",
  "core.v1.PhotonPersistentDiskVolumeSource": "PdID=PDID FSType",
  "core.v1.RBDPersistentVolumeSource":
    "CephMonitors=Monitors RBDImage=Image FSType RBDPool=Pool RadosUser=User Keyring SecretRef ReadOnly",
  "core.v1.RBDVolumeSource":
    "CephMonitors=Monitors RBDImage=Image FSType RBDPool=Pool RadosUser=User Keyring SecretRef ReadOnly",
  "core.v1.ServiceSpec":
    "Type Ports Selector ClusterIP ClusterIPs IPFamilies IPFamilyPolicy ExternalName ExternalIPs " +
    "LoadBalancerIP SessionAffinity SessionAffinityConfig LoadBalancerSourceRanges " +
    "ExternalTrafficPolicy HealthCheckNodePort PublishNotReadyAddresses " +
    "AllocateLoadBalancerNodePorts LoadBalancerClass InternalTrafficPolicy TrafficDistribution",
  "core.v1.VolumeSource":
    "HostPath EmptyDir GCEPersistentDisk AWSElasticBlockStore=AwsElasticBlockStore GitRepo Secret " +
    "NFS ISCSI Glusterfs PersistentVolumeClaim RBD Quobyte FlexVolume Cinder CephFS=Cephfs Flocker " +
    "DownwardAPI FC AzureFile ConfigMap VsphereVolume AzureDisk PhotonPersistentDisk Projected " +
    "PortworxVolume ScaleIO StorageOS=Storageos CSI Ephemeral Image",
  "resource.v1.DeviceAttribute":
    "IntValue=Int BoolValue=Bool StringValue=String VersionValue=Version IntValues=Ints " +
    "BoolValues=Bools StringValues=Strings VersionValues=Versions",
  "storage.v1.CSIDriverSpec":
    "AttachRequired FSGroupPolicy PodInfoOnMount VolumeLifecycleModes StorageCapacity " +
    "TokenRequests RequiresRepublish SELinuxMount NodeAllocatableUpdatePeriodSeconds " +
    "ServiceAccountTokenInSecrets PreventPodSchedulingIfMissing",
};

/** Structs that are built differently inside. */
export const INTERNAL_SHAPES: Readonly<Record<string, InternalShape>> = {
  "apiextensions.v1.JSON": (value) => value ?? null,
  "apiextensions.v1.CustomResourceSubresourceStatus": () => ({}),
  "apiextensions.v1.JSONSchemaPropsOrArray": (value, form) => ({
    Schema: Array.isArray(value) ? null : form("*JSONSchemaProps", value),
    JSONSchemas: Array.isArray(value) ? form("[]JSONSchemaProps", value) : null,
  }),
  "apiextensions.v1.JSONSchemaPropsOrBool": (value, form) => ({
    Allows: typeof value === "boolean" ? value : true,
    Schema: typeof value === "boolean" ? null : form("*JSONSchemaProps", value),
  }),
  "apiextensions.v1.JSONSchemaPropsOrStringArray": (value, form) => ({
    Schema: Array.isArray(value) ? null : form("*JSONSchemaProps", value),
    Property: Array.isArray(value) ? value : null,
  }),
};
