/** Facts of core.v1: format in format.md beside this file. */
export const coreV1 = `\
group 
version v1
openapi io.k8s.api.core.v1
proto k8s.io.api.core.v1
= PersistentVolumeReclaimPolicy string
= PersistentVolumeMode string
= PersistentVolumeClaimConditionType string
= ClaimResourceStatus string
= PersistentVolumeClaimModifyVolumeStatus string
= PersistentVolumeAccessMode string
= PersistentVolumePhase string
= PersistentVolumeClaimPhase string
= HostPathType string
= StorageMedium string
= Protocol string
= AzureDataDiskCachingMode string
= AzureDataDiskKind string
= MountPropagationMode string
= RecursiveReadOnlyMode string
= URIScheme string
= PullPolicy string
= ResourceResizeRestartPolicy string
= PreemptionPolicy string
= TerminationMessagePolicy string
= Capability string
= Signal string
= ConditionStatus string
= ResourceHealthStatus string
= ResourceID string
= PodPhase string
= PodConditionType string
= PodResizeStatus string
= RestartPolicy string
= ContainerRestartPolicy string
= ContainerRestartRuleAction string
= ContainerRestartRuleOnExitCodesOperator string
= DNSPolicy string
= NodeSelectorOperator string
= TaintEffect string
= TolerationOperator string
= OSName string
= UnsatisfiableConstraintAction string
= NodeInclusionPolicy string
= PodFSGroupChangePolicy string
= SupplementalGroupsPolicy string
= PodSELinuxChangePolicy string
= SeccompProfileType string
= AppArmorProfileType string
= PodQOSClass string
= ReplicationControllerConditionType string
= ServiceAffinity string
= ServiceType string
= ServiceInternalTrafficPolicy string
= ServiceInternalTrafficPolicyType ServiceInternalTrafficPolicy
= ServiceExternalTrafficPolicy string
= ServiceExternalTrafficPolicyType ServiceExternalTrafficPolicy
= IPFamily string
= IPFamilyPolicy string
= IPFamilyPolicyType IPFamilyPolicy
= UniqueVolumeName string
= NodePhase string
= NodeConditionType string
= NodeAddressType string
= ResourceName string
= ResourceList {ResourceName}Quantity
= FinalizerName string
= NamespacePhase string
= NamespaceConditionType string
= List meta.v1.List
= LimitType string
= ResourceQuotaScope string
= ScopeSelectorOperator string
= SecretType string
= ComponentConditionType string
= ProcMountType string
= LoadBalancerIPMode string
Volume
  name 1 string !
  + VolumeSource 2
VolumeSource
  hostPath 1 *HostPathVolumeSource ~
  emptyDir 2 *EmptyDirVolumeSource ~
  gcePersistentDisk 3 *GCEPersistentDiskVolumeSource ~
  awsElasticBlockStore 4 *AWSElasticBlockStoreVolumeSource ~
  gitRepo 5 *GitRepoVolumeSource ~
  secret 6 *SecretVolumeSource ~
  nfs 7 *NFSVolumeSource ~
  iscsi 8 *ISCSIVolumeSource ~
  glusterfs 9 *GlusterfsVolumeSource ~
  persistentVolumeClaim 10 *PersistentVolumeClaimVolumeSource ~
  rbd 11 *RBDVolumeSource ~
  flexVolume 12 *FlexVolumeSource ~
  cinder 13 *CinderVolumeSource ~
  cephfs 14 *CephFSVolumeSource ~
  flocker 15 *FlockerVolumeSource ~
  downwardAPI 16 *DownwardAPIVolumeSource ~
  fc 17 *FCVolumeSource ~
  azureFile 18 *AzureFileVolumeSource ~
  configMap 19 *ConfigMapVolumeSource ~
  vsphereVolume 20 *VsphereVirtualDiskVolumeSource ~
  quobyte 21 *QuobyteVolumeSource ~
  azureDisk 22 *AzureDiskVolumeSource ~
  photonPersistentDisk 23 *PhotonPersistentDiskVolumeSource ~
  projected 26 *ProjectedVolumeSource ~
  portworxVolume 24 *PortworxVolumeSource ~
  scaleIO 25 *ScaleIOVolumeSource ~
  storageos 27 *StorageOSVolumeSource ~
  csi 28 *CSIVolumeSource ~
  ephemeral 29 *EphemeralVolumeSource ~
  image 30 *ImageVolumeSource ~
PersistentVolumeClaimVolumeSource
  claimName 1 string !
  readOnly 2 bool ~
PersistentVolumeSource
  gcePersistentDisk 1 *GCEPersistentDiskVolumeSource ~
  awsElasticBlockStore 2 *AWSElasticBlockStoreVolumeSource ~
  hostPath 3 *HostPathVolumeSource ~
  glusterfs 4 *GlusterfsPersistentVolumeSource ~
  nfs 5 *NFSVolumeSource ~
  rbd 6 *RBDPersistentVolumeSource ~
  iscsi 7 *ISCSIPersistentVolumeSource ~
  cinder 8 *CinderPersistentVolumeSource ~
  cephfs 9 *CephFSPersistentVolumeSource ~
  fc 10 *FCVolumeSource ~
  flocker 11 *FlockerVolumeSource ~
  flexVolume 12 *FlexPersistentVolumeSource ~
  azureFile 13 *AzureFilePersistentVolumeSource ~
  vsphereVolume 14 *VsphereVirtualDiskVolumeSource ~
  quobyte 15 *QuobyteVolumeSource ~
  azureDisk 16 *AzureDiskVolumeSource ~
  photonPersistentDisk 17 *PhotonPersistentDiskVolumeSource ~
  portworxVolume 18 *PortworxVolumeSource ~
  scaleIO 19 *ScaleIOPersistentVolumeSource ~
  local 20 *LocalVolumeSource ~
  storageos 21 *StorageOSPersistentVolumeSource ~
  csi 22 *CSIPersistentVolumeSource ~
PersistentVolume
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 PersistentVolumeSpec ~
  status 3 PersistentVolumeStatus ~
PersistentVolumeSpec
  capacity 1 ResourceList ~
  + PersistentVolumeSource 2
  accessModes 3 []PersistentVolumeAccessMode ~ atomic enum(ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod)
  claimRef 4 *ObjectReference ~ granular
  persistentVolumeReclaimPolicy 5 PersistentVolumeReclaimPolicy ~ enum(Delete|Recycle|Retain)
  storageClassName 6 string ~
  mountOptions 7 []string ~ atomic
  volumeMode 8 *PersistentVolumeMode ~ enum(Block|Filesystem)
  nodeAffinity 9 *VolumeNodeAffinity ~
  volumeAttributesClassName 10 *string ~
VolumeNodeAffinity
  required 1 *NodeSelector ~
PersistentVolumeStatus
  phase 1 PersistentVolumePhase ~ enum(Available|Bound|Failed|Pending|Released)
  message 2 string ~
  reason 3 string ~
  lastPhaseTransitionTime 4 *Time ~
PersistentVolumeList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []PersistentVolume !
PersistentVolumeClaim
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 PersistentVolumeClaimSpec ~
  status 3 PersistentVolumeClaimStatus ~
PersistentVolumeClaimList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []PersistentVolumeClaim !
PersistentVolumeClaimSpec
  accessModes 1 []PersistentVolumeAccessMode ~ atomic enum(ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod)
  selector 4 *meta.v1.LabelSelector ~
  resources 2 VolumeResourceRequirements ~
  volumeName 3 string ~
  storageClassName 5 *string ~
  volumeMode 6 *PersistentVolumeMode ~ enum(Block|Filesystem)
  dataSource 7 *TypedLocalObjectReference ~
  dataSourceRef 8 *TypedObjectReference ~
  volumeAttributesClassName 9 *string ~
TypedObjectReference
  apiGroup 1 *string
  kind 2 string !
  name 3 string !
  namespace 4 *string ~
ModifyVolumeStatus
  targetVolumeAttributesClassName 1 string ~
  status 2 PersistentVolumeClaimModifyVolumeStatus ! enum(InProgress|Infeasible|Pending)
PersistentVolumeClaimCondition
  type 1 PersistentVolumeClaimConditionType !
  status 2 ConditionStatus !
  lastProbeTime 3 Time ~
  lastTransitionTime 4 Time ~
  reason 5 string ~
  message 6 string ~
PersistentVolumeClaimStatus
  phase 1 PersistentVolumeClaimPhase ~ enum(Bound|Lost|Pending)
  accessModes 2 []PersistentVolumeAccessMode ~ atomic enum(ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod)
  capacity 3 ResourceList ~
  conditions 4 []PersistentVolumeClaimCondition ~ map(type) patch(merge:type)
  allocatedResources 5 ResourceList ~
  allocatedResourceStatuses 7 {ResourceName}ClaimResourceStatus ~ granular enum(ControllerResizeInProgress|ControllerResizeInfeasible|NodeResizeInProgress|NodeResizeInfeasible|NodeResizePending)
  currentVolumeAttributesClassName 8 *string ~
  modifyVolumeStatus 9 *ModifyVolumeStatus ~
HostPathVolumeSource
  path 1 string !
  type 2 *HostPathType ~ enum(""|BlockDevice|CharDevice|Directory|DirectoryOrCreate|File|FileOrCreate|Socket)
EmptyDirVolumeSource
  medium 1 StorageMedium ~
  sizeLimit 2 *Quantity ~
GlusterfsVolumeSource
  endpoints 1 string !
  path 2 string !
  readOnly 3 bool ~
GlusterfsPersistentVolumeSource
  endpoints 1 string !
  path 2 string !
  readOnly 3 bool ~
  endpointsNamespace 4 *string ~
RBDVolumeSource
  monitors 1 []string ! atomic
  image 2 string !
  fsType 3 string ~
  pool 4 string ~ default("rbd")
  user 5 string ~ default("admin")
  keyring 6 string ~ default("/etc/ceph/keyring")
  secretRef 7 *LocalObjectReference ~
  readOnly 8 bool ~
RBDPersistentVolumeSource
  monitors 1 []string ! atomic
  image 2 string !
  fsType 3 string ~
  pool 4 string ~ default("rbd")
  user 5 string ~ default("admin")
  keyring 6 string ~ default("/etc/ceph/keyring")
  secretRef 7 *SecretReference ~
  readOnly 8 bool ~
CinderVolumeSource
  volumeID 1 string !
  fsType 2 string ~
  readOnly 3 bool ~
  secretRef 4 *LocalObjectReference ~
CinderPersistentVolumeSource
  volumeID 1 string !
  fsType 2 string ~
  readOnly 3 bool ~
  secretRef 4 *SecretReference ~
CephFSVolumeSource
  monitors 1 []string ! atomic
  path 2 string ~
  user 3 string ~
  secretFile 4 string ~
  secretRef 5 *LocalObjectReference ~
  readOnly 6 bool ~
SecretReference atomic
  name 1 string ~
  namespace 2 string ~
CephFSPersistentVolumeSource
  monitors 1 []string ! atomic
  path 2 string ~
  user 3 string ~
  secretFile 4 string ~
  secretRef 5 *SecretReference ~
  readOnly 6 bool ~
FlockerVolumeSource
  datasetName 1 string ~
  datasetUUID 2 string ~
GCEPersistentDiskVolumeSource
  pdName 1 string !
  fsType 2 string ~
  partition 3 int32 ~
  readOnly 4 bool ~
QuobyteVolumeSource
  registry 1 string !
  volume 2 string !
  readOnly 3 bool ~
  user 4 string ~
  group 5 string ~
  tenant 6 string ~
FlexPersistentVolumeSource
  driver 1 string !
  fsType 2 string ~
  secretRef 3 *SecretReference ~
  readOnly 4 bool ~
  options 5 {string}string ~
FlexVolumeSource
  driver 1 string !
  fsType 2 string ~
  secretRef 3 *LocalObjectReference ~
  readOnly 4 bool ~
  options 5 {string}string ~
AWSElasticBlockStoreVolumeSource
  volumeID 1 string !
  fsType 2 string ~
  partition 3 int32 ~
  readOnly 4 bool ~
GitRepoVolumeSource
  repository 1 string !
  revision 2 string ~
  directory 3 string ~
SecretVolumeSource
  secretName 1 string ~
  items 2 []KeyToPath ~ atomic
  defaultMode 3 *int32 ~
  optional 4 *bool ~
SecretProjection
  + LocalObjectReference 1
  items 2 []KeyToPath ~ atomic
  optional 4 *bool ~
NFSVolumeSource
  server 1 string !
  path 2 string !
  readOnly 3 bool ~
ISCSIVolumeSource
  targetPortal 1 string !
  iqn 2 string !
  lun 3 int32 !
  iscsiInterface 4 string ~ default("default")
  fsType 5 string ~
  readOnly 6 bool ~
  portals 7 []string ~ atomic
  chapAuthDiscovery 8 bool ~
  chapAuthSession 11 bool ~
  secretRef 10 *LocalObjectReference ~
  initiatorName 12 *string ~
ISCSIPersistentVolumeSource
  targetPortal 1 string !
  iqn 2 string !
  lun 3 int32 !
  iscsiInterface 4 string ~ default("default")
  fsType 5 string ~
  readOnly 6 bool ~
  portals 7 []string ~ atomic
  chapAuthDiscovery 8 bool ~
  chapAuthSession 11 bool ~
  secretRef 10 *SecretReference ~
  initiatorName 12 *string ~
FCVolumeSource
  targetWWNs 1 []string ~ atomic
  lun 2 *int32 ~
  fsType 3 string ~
  readOnly 4 bool ~
  wwids 5 []string ~ atomic
AzureFileVolumeSource
  secretName 1 string !
  shareName 2 string !
  readOnly 3 bool ~
AzureFilePersistentVolumeSource
  secretName 1 string !
  shareName 2 string !
  readOnly 3 bool ~
  secretNamespace 4 *string
VsphereVirtualDiskVolumeSource
  volumePath 1 string !
  fsType 2 string ~
  storagePolicyName 3 string ~
  storagePolicyID 4 string ~
PhotonPersistentDiskVolumeSource
  pdID 1 string !
  fsType 2 string ~
AzureDiskVolumeSource
  diskName 1 string !
  diskURI 2 string !
  cachingMode 3 *AzureDataDiskCachingMode ~ enum(None|ReadOnly|ReadWrite) default("ReadWrite")
  fsType 4 *string ~ default("ext4")
  readOnly 5 *bool ~ default(false)
  kind 6 *AzureDataDiskKind ~ enum(Dedicated|Managed|Shared) default("Shared")
PortworxVolumeSource
  volumeID 1 string !
  fsType 2 string ~
  readOnly 3 bool ~
ScaleIOVolumeSource
  gateway 1 string !
  system 2 string !
  secretRef 3 *LocalObjectReference !
  sslEnabled 4 bool ~
  protectionDomain 5 string ~
  storagePool 6 string ~
  storageMode 7 string ~ default("ThinProvisioned")
  volumeName 8 string ~
  fsType 9 string ~ default("xfs")
  readOnly 10 bool ~
ScaleIOPersistentVolumeSource
  gateway 1 string !
  system 2 string !
  secretRef 3 *SecretReference !
  sslEnabled 4 bool ~
  protectionDomain 5 string ~
  storagePool 6 string ~
  storageMode 7 string ~ default("ThinProvisioned")
  volumeName 8 string ~
  fsType 9 string ~ default("xfs")
  readOnly 10 bool ~
StorageOSVolumeSource
  volumeName 1 string ~
  volumeNamespace 2 string ~
  fsType 3 string ~
  readOnly 4 bool ~
  secretRef 5 *LocalObjectReference ~
StorageOSPersistentVolumeSource
  volumeName 1 string ~
  volumeNamespace 2 string ~
  fsType 3 string ~
  readOnly 4 bool ~
  secretRef 5 *ObjectReference ~
ConfigMapVolumeSource
  + LocalObjectReference 1
  items 2 []KeyToPath ~ atomic
  defaultMode 3 *int32 ~
  optional 4 *bool ~
ConfigMapProjection
  + LocalObjectReference 1
  items 2 []KeyToPath ~ atomic
  optional 4 *bool ~
ServiceAccountTokenProjection
  audience 1 string ~
  expirationSeconds 2 *int64 ~
  path 3 string !
ClusterTrustBundleProjection
  name 1 *string ~
  signerName 2 *string ~
  labelSelector 3 *meta.v1.LabelSelector ~
  optional 5 *bool ~
  path 4 string !
PodCertificateProjection
  signerName 1 string ~ !
  keyType 2 string ~ !
  maxExpirationSeconds 3 *int32 ~
  credentialBundlePath 4 string ~
  keyPath 5 string ~
  certificateChainPath 6 string ~
  userAnnotations 7 {string}string ~
ProjectedVolumeSource
  sources 1 []VolumeProjection atomic
  defaultMode 2 *int32 ~
VolumeProjection
  secret 1 *SecretProjection ~
  downwardAPI 2 *DownwardAPIProjection ~
  configMap 3 *ConfigMapProjection ~
  serviceAccountToken 4 *ServiceAccountTokenProjection ~
  clusterTrustBundle 5 *ClusterTrustBundleProjection ~
  podCertificate 6 *PodCertificateProjection ~
KeyToPath
  key 1 string !
  path 2 string !
  mode 3 *int32 ~
LocalVolumeSource
  path 1 string !
  fsType 2 *string ~
CSIPersistentVolumeSource
  driver 1 string !
  volumeHandle 2 string !
  readOnly 3 bool ~
  fsType 4 string ~
  volumeAttributes 5 {string}string ~
  controllerPublishSecretRef 6 *SecretReference ~
  nodeStageSecretRef 7 *SecretReference ~
  nodePublishSecretRef 8 *SecretReference ~
  controllerExpandSecretRef 9 *SecretReference ~
  nodeExpandSecretRef 10 *SecretReference ~
CSIVolumeSource
  driver 1 string !
  readOnly 2 *bool ~
  fsType 3 *string ~
  volumeAttributes 4 {string}string ~
  nodePublishSecretRef 5 *LocalObjectReference ~
EphemeralVolumeSource
  volumeClaimTemplate 1 *PersistentVolumeClaimTemplate ~
PersistentVolumeClaimTemplate
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 PersistentVolumeClaimSpec !
ContainerPort
  name 1 string ~
  hostPort 2 int32 ~
  containerPort 3 int32 !
  protocol 4 Protocol ~ enum(SCTP|TCP|UDP) default("TCP")
  hostIP 5 string ~
VolumeMount
  name 1 string !
  readOnly 2 bool ~
  recursiveReadOnly 7 *RecursiveReadOnlyMode ~
  mountPath 3 string !
  subPath 4 string ~
  mountPropagation 5 *MountPropagationMode ~ enum(Bidirectional|HostToContainer|None)
  subPathExpr 6 string ~
VolumeDevice
  name 1 string !
  devicePath 2 string !
EnvVar
  name 1 string !
  value 2 string ~
  valueFrom 3 *EnvVarSource ~
EnvVarSource
  fieldRef 1 *ObjectFieldSelector ~
  resourceFieldRef 2 *ResourceFieldSelector ~
  configMapKeyRef 3 *ConfigMapKeySelector ~
  secretKeyRef 4 *SecretKeySelector ~
  fileKeyRef 5 *FileKeySelector ~
FileKeySelector atomic
  volumeName 1 string !
  path 2 string !
  key 3 string !
  optional 4 *bool ~ default(false)
ObjectFieldSelector atomic
  apiVersion 1 string ~
  fieldPath 2 string !
ResourceFieldSelector atomic
  containerName 1 string ~
  resource 2 string !
  divisor 3 Quantity ~
ConfigMapKeySelector atomic
  + LocalObjectReference 1
  key 2 string !
  optional 3 *bool ~
SecretKeySelector atomic
  + LocalObjectReference 1
  key 2 string !
  optional 3 *bool ~
EnvFromSource
  prefix 1 string ~
  configMapRef 2 *ConfigMapEnvSource ~
  secretRef 3 *SecretEnvSource ~
ConfigMapEnvSource
  + LocalObjectReference 1
  optional 2 *bool ~
SecretEnvSource
  + LocalObjectReference 1
  optional 2 *bool ~
HTTPHeader
  name 1 string !
  value 2 string !
HTTPGetAction
  path 1 string ~
  port 2 IntOrString !
  host 3 string ~
  scheme 4 URIScheme ~ enum(HTTP|HTTPS)
  httpHeaders 5 []HTTPHeader ~ atomic
TCPSocketAction
  port 1 IntOrString !
  host 2 string ~
GRPCAction
  port 1 int32 !
  service 2 *string default("")
ExecAction
  command 1 []string ~ atomic
SleepAction
  seconds 1 int64 !
Probe
  + ProbeHandler 1
  initialDelaySeconds 2 int32 ~
  timeoutSeconds 3 int32 ~
  periodSeconds 4 int32 ~
  successThreshold 5 int32 ~
  failureThreshold 6 int32 ~
  terminationGracePeriodSeconds 7 *int64 ~
ContainerResizePolicy
  resourceName 1 ResourceName !
  restartPolicy 2 ResourceResizeRestartPolicy !
Capabilities
  add 1 []Capability ~ atomic
  drop 2 []Capability ~ atomic
ResourceRequirements
  limits 1 ResourceList ~
  requests 2 ResourceList ~
  claims 3 []ResourceClaim ~ map(name)
VolumeResourceRequirements
  limits 1 ResourceList ~
  requests 2 ResourceList ~
ResourceClaim
  name 1 string !
  request 2 string ~
Container
  name 1 string !
  image 2 string ~
  command 3 []string ~ atomic
  args 4 []string ~ atomic
  workingDir 5 string ~
  ports 6 []ContainerPort ~ map(containerPort,protocol) patch(merge:containerPort)
  envFrom 19 []EnvFromSource ~ atomic
  env 7 []EnvVar ~ map(name) patch(merge:name)
  resources 8 ResourceRequirements ~
  resizePolicy 23 []ContainerResizePolicy ~ atomic
  restartPolicy 24 *ContainerRestartPolicy ~
  restartPolicyRules 25 []ContainerRestartRule ~ atomic
  volumeMounts 9 []VolumeMount ~ map(mountPath) patch(merge:mountPath)
  volumeDevices 21 []VolumeDevice ~ map(devicePath) patch(merge:devicePath)
  livenessProbe 10 *Probe ~
  readinessProbe 11 *Probe ~
  startupProbe 22 *Probe ~
  lifecycle 12 *Lifecycle ~
  terminationMessagePath 13 string ~
  terminationMessagePolicy 20 TerminationMessagePolicy ~ enum(FallbackToLogsOnError|File)
  imagePullPolicy 14 PullPolicy ~ enum(Always|IfNotPresent|Never)
  securityContext 15 *SecurityContext ~
  stdin 16 bool ~
  stdinOnce 17 bool ~
  tty 18 bool ~
ProbeHandler
  exec 1 *ExecAction ~
  httpGet 2 *HTTPGetAction ~
  tcpSocket 3 *TCPSocketAction ~
  grpc 4 *GRPCAction ~
LifecycleHandler
  exec 1 *ExecAction ~
  httpGet 2 *HTTPGetAction ~
  tcpSocket 3 *TCPSocketAction ~
  sleep 4 *SleepAction ~
Lifecycle
  postStart 1 *LifecycleHandler ~
  preStop 2 *LifecycleHandler ~
  stopSignal 3 *Signal ~ enum(SIGABRT|SIGALRM|SIGBUS|SIGCHLD|SIGCLD|SIGCONT|SIGFPE|SIGHUP|SIGILL|SIGINT|SIGIO|SIGIOT|SIGKILL|SIGPIPE|SIGPOLL|SIGPROF|SIGPWR|SIGQUIT|SIGRTMAX|SIGRTMAX-1|SIGRTMAX-10|SIGRTMAX-11|SIGRTMAX-12|SIGRTMAX-13|SIGRTMAX-14|SIGRTMAX-2|SIGRTMAX-3|SIGRTMAX-4|SIGRTMAX-5|SIGRTMAX-6|SIGRTMAX-7|SIGRTMAX-8|SIGRTMAX-9|SIGRTMIN|SIGRTMIN+1|SIGRTMIN+10|SIGRTMIN+11|SIGRTMIN+12|SIGRTMIN+13|SIGRTMIN+14|SIGRTMIN+15|SIGRTMIN+2|SIGRTMIN+3|SIGRTMIN+4|SIGRTMIN+5|SIGRTMIN+6|SIGRTMIN+7|SIGRTMIN+8|SIGRTMIN+9|SIGSEGV|SIGSTKFLT|SIGSTOP|SIGSYS|SIGTERM|SIGTRAP|SIGTSTP|SIGTTIN|SIGTTOU|SIGURG|SIGUSR1|SIGUSR2|SIGVTALRM|SIGWINCH|SIGXCPU|SIGXFSZ)
ContainerStateWaiting
  reason 1 string ~
  message 2 string ~
ContainerStateRunning
  startedAt 1 Time ~
ContainerStateTerminated
  exitCode 1 int32 !
  signal 2 int32 ~
  reason 3 string ~
  message 4 string ~
  startedAt 5 Time ~
  finishedAt 6 Time ~
  containerID 7 string ~
ContainerState
  waiting 1 *ContainerStateWaiting ~
  running 2 *ContainerStateRunning ~
  terminated 3 *ContainerStateTerminated ~
ContainerStatus
  name 1 string !
  state 2 ContainerState ~
  lastState 3 ContainerState ~
  ready 4 bool !
  restartCount 5 int32 !
  image 6 string !
  imageID 7 string !
  containerID 8 string ~
  started 9 *bool ~
  allocatedResources 10 ResourceList ~
  resources 11 *ResourceRequirements ~
  volumeMounts 12 []VolumeMountStatus ~ map(mountPath) patch(merge:mountPath)
  user 13 *ContainerUser ~
  allocatedResourcesStatus 14 []ResourceStatus ~ map(name) patch(merge:name)
  stopSignal 15 *Signal ~ enum(SIGABRT|SIGALRM|SIGBUS|SIGCHLD|SIGCLD|SIGCONT|SIGFPE|SIGHUP|SIGILL|SIGINT|SIGIO|SIGIOT|SIGKILL|SIGPIPE|SIGPOLL|SIGPROF|SIGPWR|SIGQUIT|SIGRTMAX|SIGRTMAX-1|SIGRTMAX-10|SIGRTMAX-11|SIGRTMAX-12|SIGRTMAX-13|SIGRTMAX-14|SIGRTMAX-2|SIGRTMAX-3|SIGRTMAX-4|SIGRTMAX-5|SIGRTMAX-6|SIGRTMAX-7|SIGRTMAX-8|SIGRTMAX-9|SIGRTMIN|SIGRTMIN+1|SIGRTMIN+10|SIGRTMIN+11|SIGRTMIN+12|SIGRTMIN+13|SIGRTMIN+14|SIGRTMIN+15|SIGRTMIN+2|SIGRTMIN+3|SIGRTMIN+4|SIGRTMIN+5|SIGRTMIN+6|SIGRTMIN+7|SIGRTMIN+8|SIGRTMIN+9|SIGSEGV|SIGSTKFLT|SIGSTOP|SIGSYS|SIGTERM|SIGTRAP|SIGTSTP|SIGTTIN|SIGTTOU|SIGURG|SIGUSR1|SIGUSR2|SIGVTALRM|SIGWINCH|SIGXCPU|SIGXFSZ)
ResourceStatus
  name 1 ResourceName !
  resources 2 []ResourceHealth ~ map(resourceID)
ResourceHealth
  resourceID 1 ResourceID !
  health 2 ResourceHealthStatus ~
  message 6 *string ~
ContainerUser
  linux 1 *LinuxContainerUser ~
LinuxContainerUser
  uid 1 int64 !
  gid 2 int64 !
  supplementalGroups 3 []int64 ~ atomic
PodCondition
  type 1 PodConditionType !
  observedGeneration 7 int64 ~
  status 2 ConditionStatus !
  lastProbeTime 3 Time ~
  lastTransitionTime 4 Time ~
  reason 5 string ~
  message 6 string ~
VolumeMountStatus
  name 1 string !
  mountPath 2 string !
  readOnly 3 bool ~
  recursiveReadOnly 4 *RecursiveReadOnlyMode ~
  volumeStatus 5 *VolumeStatus ~
VolumeStatus
  image 1 *ImageVolumeStatus ~
ImageVolumeStatus
  imageRef 1 string ~ !
ContainerRestartRule
  action 1 ContainerRestartRuleAction ~ !
  exitCodes 2 *ContainerRestartRuleOnExitCodes ~
ContainerRestartRuleOnExitCodes
  operator 1 ContainerRestartRuleOnExitCodesOperator ~ !
  values 2 []int32 ~ set
NodeSelector atomic
  nodeSelectorTerms 1 []NodeSelectorTerm ! atomic
NodeSelectorTerm atomic
  matchExpressions 1 []NodeSelectorRequirement ~ atomic
  matchFields 2 []NodeSelectorRequirement ~ atomic
NodeSelectorRequirement
  key 1 string !
  operator 2 NodeSelectorOperator ! enum(DoesNotExist|Exists|Gt|In|Lt|NotIn)
  values 3 []string ~ atomic
TopologySelectorTerm atomic
  matchLabelExpressions 1 []TopologySelectorLabelRequirement ~ atomic
TopologySelectorLabelRequirement
  key 1 string !
  values 2 []string ! atomic
Affinity
  nodeAffinity 1 *NodeAffinity ~
  podAffinity 2 *PodAffinity ~
  podAntiAffinity 3 *PodAntiAffinity ~
PodAffinity
  requiredDuringSchedulingIgnoredDuringExecution 1 []PodAffinityTerm ~ atomic
  preferredDuringSchedulingIgnoredDuringExecution 2 []WeightedPodAffinityTerm ~ atomic
PodAntiAffinity
  requiredDuringSchedulingIgnoredDuringExecution 1 []PodAffinityTerm ~ atomic
  preferredDuringSchedulingIgnoredDuringExecution 2 []WeightedPodAffinityTerm ~ atomic
WeightedPodAffinityTerm
  weight 1 int32 !
  podAffinityTerm 2 PodAffinityTerm !
PodAffinityTerm
  labelSelector 1 *meta.v1.LabelSelector ~
  namespaces 2 []string ~ atomic
  topologyKey 3 string !
  namespaceSelector 4 *meta.v1.LabelSelector ~
  matchLabelKeys 5 []string ~ atomic
  mismatchLabelKeys 6 []string ~ atomic
NodeAffinity
  requiredDuringSchedulingIgnoredDuringExecution 1 *NodeSelector ~
  preferredDuringSchedulingIgnoredDuringExecution 2 []PreferredSchedulingTerm ~ atomic
PreferredSchedulingTerm
  weight 1 int32 !
  preference 2 NodeSelectorTerm !
Taint
  key 1 string !
  value 2 string ~
  effect 3 TaintEffect ! enum(NoExecute|NoSchedule|PreferNoSchedule)
  timeAdded 4 *Time ~
Toleration
  key 1 string ~
  operator 2 TolerationOperator ~ enum(Equal|Exists|Gt|Lt)
  value 3 string ~
  effect 4 TaintEffect ~ enum(NoExecute|NoSchedule|PreferNoSchedule)
  tolerationSeconds 5 *int64 ~
PodReadinessGate
  conditionType 1 PodConditionType !
PodSpec
  volumes 1 []Volume ~ map(name) patch(merge,retainKeys:name)
  initContainers 20 []Container ~ map(name) patch(merge:name)
  containers 2 []Container ! map(name) patch(merge:name)
  ephemeralContainers 34 []EphemeralContainer ~ map(name) patch(merge:name)
  restartPolicy 3 RestartPolicy ~ enum(Always|Never|OnFailure)
  terminationGracePeriodSeconds 4 *int64 ~
  activeDeadlineSeconds 5 *int64 ~
  dnsPolicy 6 DNSPolicy ~ enum(ClusterFirst|ClusterFirstWithHostNet|Default|None)
  nodeSelector 7 {string}string ~ mapatomic
  serviceAccountName 8 string ~
  serviceAccount 9 string ~
  automountServiceAccountToken 21 *bool ~
  nodeName 10 string ~
  hostNetwork 11 bool ~
  hostPID 12 bool ~
  hostIPC 13 bool ~
  shareProcessNamespace 27 *bool ~
  securityContext 14 *PodSecurityContext ~
  imagePullSecrets 15 []LocalObjectReference ~ map(name) patch(merge:name)
  hostname 16 string ~
  subdomain 17 string ~
  affinity 18 *Affinity ~
  schedulerName 19 string ~
  tolerations 22 []Toleration ~ atomic
  hostAliases 23 []HostAlias ~ map(ip) patch(merge:ip)
  priorityClassName 24 string ~
  priority 25 *int32 ~
  dnsConfig 26 *PodDNSConfig ~
  readinessGates 28 []PodReadinessGate ~ atomic
  runtimeClassName 29 *string ~
  enableServiceLinks 30 *bool ~
  preemptionPolicy 31 *PreemptionPolicy ~ enum(Never|PreemptLowerPriority)
  overhead 32 ResourceList ~
  topologySpreadConstraints 33 []TopologySpreadConstraint ~ map(topologyKey,whenUnsatisfiable) patch(merge:topologyKey)
  setHostnameAsFQDN 35 *bool ~
  os 36 *PodOS ~
  hostUsers 37 *bool ~
  schedulingGates 38 []PodSchedulingGate ~ map(name) patch(merge:name)
  resourceClaims 39 []PodResourceClaim ~ map(name) patch(merge,retainKeys:name)
  resources 40 *ResourceRequirements ~
  hostnameOverride 41 *string ~
  schedulingGroup 43 *PodSchedulingGroup ~
PodResourceClaim
  name 1 string !
  resourceClaimName 3 *string ~
  resourceClaimTemplateName 4 *string ~
PodResourceClaimStatus
  name 1 string !
  resourceClaimName 2 *string ~
PodExtendedResourceClaimStatus
  requestMappings 1 []ContainerExtendedResourceRequest ! atomic
  resourceClaimName 2 string !
ContainerExtendedResourceRequest
  containerName 1 string !
  resourceName 2 string !
  requestName 3 string !
PodOS
  name 1 OSName !
PodSchedulingGate
  name 1 string !
PodSchedulingGroup union(:podGroupName)
  podGroupName 1 *string ~
TopologySpreadConstraint
  maxSkew 1 int32 !
  topologyKey 2 string !
  whenUnsatisfiable 3 UnsatisfiableConstraintAction ! enum(DoNotSchedule|ScheduleAnyway)
  labelSelector 4 *meta.v1.LabelSelector ~
  minDomains 5 *int32 ~
  nodeAffinityPolicy 6 *NodeInclusionPolicy ~ enum(Honor|Ignore)
  nodeTaintsPolicy 7 *NodeInclusionPolicy ~ enum(Honor|Ignore)
  matchLabelKeys 8 []string ~ atomic
HostAlias
  ip 1 string !
  hostnames 2 []string ~ atomic
PodSecurityContext
  seLinuxOptions 1 *SELinuxOptions ~
  windowsOptions 8 *WindowsSecurityContextOptions ~
  runAsUser 2 *int64 ~
  runAsGroup 6 *int64 ~
  runAsNonRoot 3 *bool ~
  supplementalGroups 4 []int64 ~ atomic
  supplementalGroupsPolicy 12 *SupplementalGroupsPolicy ~ enum(Merge|Strict)
  fsGroup 5 *int64 ~
  sysctls 7 []Sysctl ~ atomic
  fsGroupChangePolicy 9 *PodFSGroupChangePolicy ~ enum(Always|OnRootMismatch)
  seccompProfile 10 *SeccompProfile ~
  appArmorProfile 11 *AppArmorProfile ~
  seLinuxChangePolicy 13 *PodSELinuxChangePolicy ~
SeccompProfile union(type:localhostProfile)
  type 1 SeccompProfileType ! enum(Localhost|RuntimeDefault|Unconfined)
  localhostProfile 2 *string ~
AppArmorProfile union(type:localhostProfile)
  type 1 AppArmorProfileType ! enum(Localhost|RuntimeDefault|Unconfined)
  localhostProfile 2 *string ~
PodDNSConfig
  nameservers 1 []string ~ atomic
  searches 2 []string ~ atomic
  options 3 []PodDNSConfigOption ~ atomic
PodDNSConfigOption
  name 1 string ~
  value 2 *string ~
PodIP
  ip 1 string !
HostIP
  ip 1 string !
EphemeralContainerCommon
  name 1 string !
  image 2 string ~
  command 3 []string ~ atomic
  args 4 []string ~ atomic
  workingDir 5 string ~
  ports 6 []ContainerPort ~ map(containerPort,protocol) patch(merge:containerPort)
  envFrom 19 []EnvFromSource ~ atomic
  env 7 []EnvVar ~ map(name) patch(merge:name)
  resources 8 ResourceRequirements ~
  resizePolicy 23 []ContainerResizePolicy ~ atomic
  restartPolicy 24 *ContainerRestartPolicy ~
  restartPolicyRules 25 []ContainerRestartRule ~ atomic
  volumeMounts 9 []VolumeMount ~ map(mountPath) patch(merge:mountPath)
  volumeDevices 21 []VolumeDevice ~ map(devicePath) patch(merge:devicePath)
  livenessProbe 10 *Probe ~
  readinessProbe 11 *Probe ~
  startupProbe 22 *Probe ~
  lifecycle 12 *Lifecycle ~
  terminationMessagePath 13 string ~
  terminationMessagePolicy 20 TerminationMessagePolicy ~ enum(FallbackToLogsOnError|File)
  imagePullPolicy 14 PullPolicy ~ enum(Always|IfNotPresent|Never)
  securityContext 15 *SecurityContext ~
  stdin 16 bool ~
  stdinOnce 17 bool ~
  tty 18 bool ~
EphemeralContainer
  + EphemeralContainerCommon 1
  targetContainerName 2 string ~
PodStatus
  observedGeneration 17 int64 ~
  phase 1 PodPhase ~ enum(Failed|Pending|Running|Succeeded|Unknown)
  conditions 2 []PodCondition ~ map(type) patch(merge:type)
  message 3 string ~
  reason 4 string ~
  nominatedNodeName 11 string ~
  hostIP 5 string ~
  hostIPs 16 []HostIP ~ atomic patch(merge:ip)
  podIP 6 string ~
  podIPs 12 []PodIP ~ map(ip) patch(merge:ip)
  startTime 7 *Time ~
  initContainerStatuses 10 []ContainerStatus ~ atomic
  containerStatuses 8 []ContainerStatus ~ atomic
  qosClass 9 PodQOSClass ~ enum(BestEffort|Burstable|Guaranteed)
  ephemeralContainerStatuses 13 []ContainerStatus ~ atomic
  resize 14 PodResizeStatus ~
  resourceClaimStatuses 15 []PodResourceClaimStatus ~ map(name) patch(merge,retainKeys:name)
  extendedResourceClaimStatus 18 *PodExtendedResourceClaimStatus ~
  allocatedResources 19 ResourceList ~
  resources 20 *ResourceRequirements ~
  nodeAllocatableResourceClaimStatuses 21 []NodeAllocatableResourceClaimStatus ~ atomic
PodStatusResult
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  status 2 PodStatus ~
Pod
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 PodSpec ~
  status 3 PodStatus ~
PodList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []Pod !
PodTemplateSpec
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 PodSpec ~
PodTemplate
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  template 2 PodTemplateSpec ~
PodTemplateList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []PodTemplate !
ReplicationControllerSpec
  replicas 1 *int32 ~ default(1)
  minReadySeconds 4 int32 ~ default(0)
  selector 2 {string}string ~ mapatomic
  template 3 *PodTemplateSpec ~
ReplicationControllerStatus
  replicas 1 int32 !
  fullyLabeledReplicas 2 int32 ~
  readyReplicas 4 int32 ~
  availableReplicas 5 int32 ~
  observedGeneration 3 int64 ~
  conditions 6 []ReplicationControllerCondition ~ map(type) patch(merge:type)
ReplicationControllerCondition
  type 1 ReplicationControllerConditionType !
  status 2 ConditionStatus !
  lastTransitionTime 3 Time ~
  reason 4 string ~
  message 5 string ~
ReplicationController
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 ReplicationControllerSpec ~
  status 3 ReplicationControllerStatus ~
ReplicationControllerList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []ReplicationController !
SessionAffinityConfig
  clientIP 1 *ClientIPConfig ~
ClientIPConfig
  timeoutSeconds 1 *int32 ~
ServiceStatus
  loadBalancer 1 LoadBalancerStatus ~
  conditions 2 []meta.v1.Condition ~ map(type) patch(merge:type)
LoadBalancerStatus
  ingress 1 []LoadBalancerIngress ~ atomic
LoadBalancerIngress
  ip 1 string ~
  hostname 2 string ~
  ipMode 3 *LoadBalancerIPMode ~
  ports 4 []PortStatus ~ atomic
ServiceSpec
  ports 1 []ServicePort ~ map(port,protocol) patch(merge:port)
  selector 2 {string}string ~ mapatomic
  clusterIP 3 string ~
  clusterIPs 18 []string ~ atomic
  type 4 ServiceType ~ enum(ClusterIP|ExternalName|LoadBalancer|NodePort)
  externalIPs 5 []string ~ atomic
  sessionAffinity 7 ServiceAffinity ~ enum(ClientIP|None)
  loadBalancerIP 8 string ~
  loadBalancerSourceRanges 9 []string ~ atomic
  externalName 10 string ~
  externalTrafficPolicy 11 ServiceExternalTrafficPolicy ~ enum(Cluster|Local)
  healthCheckNodePort 12 int32 ~
  publishNotReadyAddresses 13 bool ~
  sessionAffinityConfig 14 *SessionAffinityConfig ~
  ipFamilies 19 []IPFamily ~ atomic enum(""|IPv4|IPv6)
  ipFamilyPolicy 17 *IPFamilyPolicy ~ enum(PreferDualStack|RequireDualStack|SingleStack)
  allocateLoadBalancerNodePorts 20 *bool ~
  loadBalancerClass 21 *string ~
  internalTrafficPolicy 22 *ServiceInternalTrafficPolicy ~ enum(Cluster|Local)
  trafficDistribution 23 *string ~
ServicePort
  name 1 string ~
  protocol 2 Protocol ~ enum(SCTP|TCP|UDP) default("TCP")
  appProtocol 6 *string ~
  port 3 int32 !
  targetPort 4 IntOrString ~
  nodePort 5 int32 ~
Service
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 ServiceSpec ~
  status 3 ServiceStatus ~
ServiceList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []Service !
ServiceAccount
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  secrets 2 []ObjectReference ~ map(name) patch(merge:name)
  imagePullSecrets 3 []LocalObjectReference ~ atomic
  automountServiceAccountToken 4 *bool ~
ServiceAccountList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []ServiceAccount !
Endpoints
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  subsets 2 []EndpointSubset ~ atomic
EndpointSubset
  addresses 1 []EndpointAddress ~ atomic
  notReadyAddresses 2 []EndpointAddress ~ atomic
  ports 3 []EndpointPort ~ atomic
EndpointAddress atomic
  ip 1 string !
  hostname 3 string ~
  nodeName 4 *string ~
  targetRef 2 *ObjectReference ~
EndpointPort atomic
  name 1 string ~
  port 2 int32 !
  protocol 3 Protocol ~ enum(SCTP|TCP|UDP)
  appProtocol 4 *string ~
EndpointsList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []Endpoints !
NodeSpec
  podCIDR 1 string ~
  podCIDRs 7 []string ~ set patch(merge)
  providerID 3 string ~
  unschedulable 4 bool ~
  taints 5 []Taint ~ atomic
  configSource 6 *NodeConfigSource ~
  externalID 2 string ~
NodeConfigSource
  configMap 2 *ConfigMapNodeConfigSource ~
ConfigMapNodeConfigSource
  namespace 1 string !
  name 2 string !
  uid 3 UID ~
  resourceVersion 4 string ~
  kubeletConfigKey 5 string !
DaemonEndpoint
  Port 1 int32 !
NodeDaemonEndpoints
  kubeletEndpoint 1 DaemonEndpoint ~
NodeRuntimeHandlerFeatures
  recursiveReadOnlyMounts 1 *bool ~
  userNamespaces 2 *bool ~
NodeRuntimeHandler
  name 1 string
  features 2 *NodeRuntimeHandlerFeatures ~
NodeFeatures
  supplementalGroupsPolicy 1 *bool ~
NodeSystemInfo
  machineID 1 string !
  systemUUID 2 string !
  bootID 3 string !
  kernelVersion 4 string !
  osImage 5 string !
  containerRuntimeVersion 6 string !
  kubeletVersion 7 string !
  kubeProxyVersion 8 string !
  operatingSystem 9 string !
  architecture 10 string !
  swap 11 *NodeSwapStatus ~
NodeSwapStatus
  capacity 1 *int64 ~
NodeConfigStatus
  assigned 1 *NodeConfigSource ~
  active 2 *NodeConfigSource ~
  lastKnownGood 3 *NodeConfigSource ~
  error 4 string ~
NodeStatus
  capacity 1 ResourceList ~
  allocatable 2 ResourceList ~
  phase 3 NodePhase ~ enum(Pending|Running|Terminated)
  conditions 4 []NodeCondition ~ map(type) patch(merge:type)
  addresses 5 []NodeAddress ~ map(type) patch(merge:type)
  daemonEndpoints 6 NodeDaemonEndpoints ~
  nodeInfo 7 NodeSystemInfo ~
  images 8 []ContainerImage ~ atomic
  volumesInUse 9 []UniqueVolumeName ~ atomic
  volumesAttached 10 []AttachedVolume ~ atomic
  config 11 *NodeConfigStatus ~
  runtimeHandlers 12 []NodeRuntimeHandler ~ atomic
  features 13 *NodeFeatures ~
  declaredFeatures 14 []string ~ atomic
AttachedVolume
  name 1 UniqueVolumeName !
  devicePath 2 string !
AvoidPods
  preferAvoidPods 1 []PreferAvoidPodsEntry ~
PreferAvoidPodsEntry
  podSignature 1 PodSignature
  evictionTime 2 Time ~
  reason 3 string ~
  message 4 string ~
PodSignature
  podController 1 *meta.v1.OwnerReference ~
ContainerImage
  names 1 []string atomic
  sizeBytes 2 int64 ~
NodeCondition
  type 1 NodeConditionType !
  status 2 ConditionStatus !
  lastHeartbeatTime 3 Time ~
  lastTransitionTime 4 Time ~
  reason 5 string ~
  message 6 string ~
NodeAddress
  type 1 NodeAddressType !
  address 2 string !
Node
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 NodeSpec ~
  status 3 NodeStatus ~
NodeList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []Node !
NamespaceSpec
  finalizers 1 []FinalizerName ~ atomic
NamespaceStatus
  phase 1 NamespacePhase ~ enum(Active|Terminating)
  conditions 2 []NamespaceCondition ~ map(type) patch(merge:type)
NamespaceCondition
  type 1 NamespaceConditionType !
  status 2 ConditionStatus !
  lastTransitionTime 4 Time ~
  reason 5 string ~
  message 6 string ~
Namespace
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 NamespaceSpec ~
  status 3 NamespaceStatus ~
NamespaceList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []Namespace !
Binding
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  target 2 ObjectReference !
Preconditions
  uid 1 *UID ~
PodLogOptions
  + TypeMeta
  container 1 string ~
  follow 2 bool ~
  previous 3 bool ~
  sinceSeconds 4 *int64 ~
  sinceTime 5 *Time ~
  timestamps 6 bool ~
  tailLines 7 *int64 ~
  limitBytes 8 *int64 ~
  insecureSkipTLSVerifyBackend 9 bool ~
  stream 10 *string ~
PodAttachOptions
  + TypeMeta
  stdin 1 bool ~
  stdout 2 bool ~
  stderr 3 bool ~
  tty 4 bool ~
  container 5 string ~
PodExecOptions
  + TypeMeta
  stdin 1 bool ~
  stdout 2 bool ~
  stderr 3 bool ~
  tty 4 bool ~
  container 5 string ~
  command 6 []string
PodPortForwardOptions
  + TypeMeta
  ports 1 []int32 ~
PodProxyOptions
  + TypeMeta
  path 1 string ~
NodeProxyOptions
  + TypeMeta
  path 1 string ~
ServiceProxyOptions
  + TypeMeta
  path 1 string ~
ObjectReference atomic
  kind 1 string ~
  namespace 2 string ~
  name 3 string ~
  uid 4 UID ~
  apiVersion 5 string ~
  resourceVersion 6 string ~
  fieldPath 7 string ~
LocalObjectReference atomic
  name 1 string ~ default("")
TypedLocalObjectReference atomic
  apiGroup 1 *string
  kind 2 string !
  name 3 string !
SerializedReference
  + TypeMeta
  reference 1 ObjectReference ~
EventSource
  component 1 string ~
  host 2 string ~
Event
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta !
  involvedObject 2 ObjectReference !
  reason 3 string ~
  message 4 string ~
  source 5 EventSource ~
  firstTimestamp 6 Time ~
  lastTimestamp 7 Time ~
  count 8 int32 ~
  type 9 string ~
  eventTime 10 MicroTime ~
  series 11 *EventSeries ~
  action 12 string ~
  related 13 *ObjectReference ~
  reportingComponent 14 string
  reportingInstance 15 string
EventSeries
  count 1 int32 ~
  lastObservedTime 2 MicroTime ~
EventList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []Event !
LimitRangeItem
  type 1 LimitType !
  max 2 ResourceList ~
  min 3 ResourceList ~
  default 4 ResourceList ~
  defaultRequest 5 ResourceList ~
  maxLimitRequestRatio 6 ResourceList ~
LimitRangeSpec
  limits 1 []LimitRangeItem ! atomic
LimitRange
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 LimitRangeSpec ~
LimitRangeList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []LimitRange !
ResourceQuotaSpec
  hard 1 ResourceList ~
  scopes 2 []ResourceQuotaScope ~ atomic enum(BestEffort|CrossNamespacePodAffinity|NotBestEffort|NotTerminating|PriorityClass|Terminating|VolumeAttributesClass)
  scopeSelector 3 *ScopeSelector ~
ScopeSelector atomic
  matchExpressions 1 []ScopedResourceSelectorRequirement ~ atomic
ScopedResourceSelectorRequirement
  scopeName 1 ResourceQuotaScope ! enum(BestEffort|CrossNamespacePodAffinity|NotBestEffort|NotTerminating|PriorityClass|Terminating|VolumeAttributesClass)
  operator 2 ScopeSelectorOperator ! enum(DoesNotExist|Exists|In|NotIn)
  values 3 []string ~ atomic
ResourceQuotaStatus
  hard 1 ResourceList ~
  used 2 ResourceList ~
ResourceQuota
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 ResourceQuotaSpec ~
  status 3 ResourceQuotaStatus ~
ResourceQuotaList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []ResourceQuota !
Secret
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  immutable 5 *bool ~
  data 2 {string}bytes ~
  stringData 4 {string}string ~
  type 3 SecretType ~
SecretList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []Secret !
ConfigMap
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  immutable 4 *bool ~
  data 2 {string}string ~
  binaryData 3 {string}bytes ~
ConfigMapList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []ConfigMap !
ComponentCondition
  type 1 ComponentConditionType !
  status 2 ConditionStatus !
  message 3 string ~
  error 4 string ~
ComponentStatus
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  conditions 2 []ComponentCondition ~ map(type) patch(merge:type)
ComponentStatusList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []ComponentStatus !
DownwardAPIVolumeSource
  items 1 []DownwardAPIVolumeFile ~ atomic
  defaultMode 2 *int32 ~
DownwardAPIVolumeFile
  path 1 string !
  fieldRef 2 *ObjectFieldSelector ~
  resourceFieldRef 3 *ResourceFieldSelector ~
  mode 4 *int32 ~
DownwardAPIProjection
  items 1 []DownwardAPIVolumeFile ~ atomic
SecurityContext
  capabilities 1 *Capabilities ~
  privileged 2 *bool ~
  seLinuxOptions 3 *SELinuxOptions ~
  windowsOptions 10 *WindowsSecurityContextOptions ~
  runAsUser 4 *int64 ~
  runAsGroup 8 *int64 ~
  runAsNonRoot 5 *bool ~
  readOnlyRootFilesystem 6 *bool ~
  allowPrivilegeEscalation 7 *bool ~
  procMount 9 *ProcMountType ~ enum(Default|Unmasked)
  seccompProfile 11 *SeccompProfile ~
  appArmorProfile 12 *AppArmorProfile ~
SELinuxOptions
  user 1 string ~
  role 2 string ~
  type 3 string ~
  level 4 string ~
WindowsSecurityContextOptions
  gmsaCredentialSpecName 1 *string ~
  gmsaCredentialSpec 2 *string ~
  runAsUserName 3 *string ~
  hostProcess 4 *bool ~
RangeAllocation
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  range 2 string
  data 3 bytes
Sysctl
  name 1 string !
  value 2 string !
PortStatus
  port 1 int32 !
  protocol 2 Protocol ! enum(SCTP|TCP|UDP)
  error 3 *string ~
ImageVolumeSource
  reference 1 string ~
  pullPolicy 2 PullPolicy ~ enum(Always|IfNotPresent|Never)
NodeAllocatableResourceClaimStatus
  resourceClaimName 1 string !
  containers 2 []string ~ set
  resources 3 {ResourceName}Quantity !
`;
