/** Structs whose internal declaration differs from the served one: for error messages only. */

import { sentValue } from "#api/codec/empty-collections.ts";

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

/**
 * Structs that are built differently inside: each field in order as `GoName:type`, after its own
 * name in the API where that is not the Go name with a small start (`dnsPolicy/DNSPolicy:string`).
 */
const POD_SPEC =
  "Volumes:[]Volume InitContainers:[]Container Containers:[]Container " +
  "EphemeralContainers:[]EphemeralContainer RestartPolicy:string " +
  "TerminationGracePeriodSeconds:*int64 ActiveDeadlineSeconds:*int64 dnsPolicy/DNSPolicy:string " +
  "NodeSelector:{string}string ServiceAccountName:string AutomountServiceAccountToken:*bool " +
  "NodeName:string SecurityContext:*PodSecurityContext ImagePullSecrets:[]LocalObjectReference " +
  "Hostname:string Subdomain:string SetHostnameAsFQDN:*bool Affinity:*Affinity " +
  "SchedulerName:string Tolerations:[]Toleration HostAliases:[]HostAlias " +
  "PriorityClassName:string Priority:*int32 PreemptionPolicy:*string " +
  "dnsConfig/DNSConfig:*PodDNSConfig ReadinessGates:[]PodReadinessGate RuntimeClassName:*string " +
  "Overhead:{string}Quantity EnableServiceLinks:*bool " +
  "TopologySpreadConstraints:[]TopologySpreadConstraint os/OS:*PodOS " +
  "SchedulingGates:[]PodSchedulingGate ResourceClaims:[]PodResourceClaim " +
  "Resources:*ResourceRequirements HostnameOverride:*string SchedulingGroup:*PodSchedulingGroup";
const POD_SECURITY_CONTEXT =
  "HostNetwork:bool HostPID:bool HostIPC:bool ShareProcessNamespace:*bool HostUsers:*bool " +
  "seLinuxOptions/SELinuxOptions:*SELinuxOptions WindowsOptions:*WindowsSecurityContextOptions " +
  "RunAsUser:*int64 RunAsGroup:*int64 RunAsNonRoot:*bool SupplementalGroups:[]int64 " +
  "SupplementalGroupsPolicy:*string fsGroup/FSGroup:*int64 " +
  "fsGroupChangePolicy/FSGroupChangePolicy:*string Sysctls:[]Sysctl " +
  "SeccompProfile:*SeccompProfile AppArmorProfile:*AppArmorProfile " +
  "seLinuxChangePolicy/SELinuxChangePolicy:*string";

/** Structs that are built differently inside. */
export const INTERNAL_SHAPES: Readonly<Record<string, InternalShape>> = {
  "apps.v1.RollingUpdateDaemonSet": fields("MaxUnavailable:IntOrString MaxSurge:IntOrString"),
  "apps.v1.RollingUpdateDeployment": fields("MaxUnavailable:IntOrString MaxSurge:IntOrString"),
  "apps.v1.RollingUpdateStatefulSetStrategy": fields("Partition:int32 MaxUnavailable:*IntOrString"),
  "core.v1.PodSpec": fields(POD_SPEC, withHostNamespaces),
  "core.v1.PodSecurityContext": fields(POD_SECURITY_CONTEXT),
  "core.v1.ServiceAccountTokenProjection": fields(
    "Audience:string ExpirationSeconds:int64 Path:string",
  ),
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

/** Inside, the namespaces that a pod shares with its host are a part of its security context. */
function withHostNamespaces(spec: Fields): Fields {
  const { hostNetwork, hostPID, hostIPC, shareProcessNamespace, hostUsers } = spec;
  const host = { hostNetwork, hostPID, hostIPC, shareProcessNamespace, hostUsers };
  return { securityContext: { ...(spec.securityContext as object), ...host } };
}

type Fields = Readonly<Record<string, unknown>>;

/** `replaced`: fields that hold something else inside. */
function fields(list: string, replaced: (source: Fields) => Fields = () => ({})): InternalShape {
  const parsed = list.split(" ").map((text) => {
    const [, jsonName, goName, type] = /^(?:(\w+)\/)?(\w+):(.+)$/.exec(text)!;
    return { goName: goName!, type: type!, jsonName: jsonName ?? lowerStart(goName!) };
  });
  return (value, form) => {
    const source = (value ?? {}) as Fields;
    const others = replaced(source);
    return Object.fromEntries(
      parsed.map(({ goName, jsonName, type }) => [
        goName,
        form(type, others[jsonName] ?? sentValue(source, jsonName)),
      ]),
    );
  };
}

function lowerStart(name: string): string {
  return name.slice(0, 1).toLowerCase() + name.slice(1);
}
