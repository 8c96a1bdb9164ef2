/** Facts of storage.v1beta1: format in format.md beside this file. */
export const storageV1beta1 = `\
group storage.k8s.io
version v1beta1
openapi io.k8s.api.storage.v1beta1
proto k8s.io.api.storage.v1beta1
= VolumeBindingMode string
= FSGroupPolicy string
= VolumeLifecycleMode string
StorageClass
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  provisioner 2 string
  parameters 3 {string}string ~
  reclaimPolicy 4 *core.v1.PersistentVolumeReclaimPolicy ~
  mountOptions 5 []string ~
  allowVolumeExpansion 6 *bool ~
  volumeBindingMode 7 *VolumeBindingMode ~
  allowedTopologies 8 []core.v1.TopologySelectorTerm ~
StorageClassList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []StorageClass
VolumeAttachment
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 VolumeAttachmentSpec
  status 3 VolumeAttachmentStatus ~
VolumeAttachmentList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []VolumeAttachment
VolumeAttachmentSpec
  attacher 1 string
  source 2 VolumeAttachmentSource
  nodeName 3 string
VolumeAttachmentSource
  persistentVolumeName 1 *string ~
  inlineVolumeSpec 2 *core.v1.PersistentVolumeSpec ~
VolumeAttachmentStatus
  attached 1 bool
  attachmentMetadata 2 {string}string ~
  attachError 3 *VolumeError ~
  detachError 4 *VolumeError ~
VolumeError
  time 1 Time ~
  message 2 string ~
  errorCode 3 *int32 ~
CSIDriver
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 CSIDriverSpec
CSIDriverList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []CSIDriver
CSIDriverSpec
  attachRequired 1 *bool ~
  podInfoOnMount 2 *bool ~
  volumeLifecycleModes 3 []VolumeLifecycleMode ~
  storageCapacity 4 *bool ~
  fsGroupPolicy 5 *FSGroupPolicy ~
  tokenRequests 6 []TokenRequest ~
  requiresRepublish 7 *bool ~
  seLinuxMount 8 *bool ~
  nodeAllocatableUpdatePeriodSeconds 9 *int64 ~
  serviceAccountTokenInSecrets 10 *bool ~
  preventPodSchedulingIfMissing 11 *bool ~
TokenRequest
  audience 1 string
  expirationSeconds 2 *int64 ~
CSINode
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 CSINodeSpec
CSINodeSpec
  drivers 1 []CSINodeDriver
CSINodeDriver
  name 1 string
  nodeID 2 string
  topologyKeys 3 []string
  allocatable 4 *VolumeNodeResources ~
VolumeNodeResources
  count 1 *int32 ~
CSINodeList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []CSINode
CSIStorageCapacity
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  nodeTopology 2 *meta.v1.LabelSelector ~
  storageClassName 3 string
  capacity 4 *Quantity ~
  maximumVolumeSize 5 *Quantity ~
CSIStorageCapacityList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []CSIStorageCapacity
VolumeAttributesClass
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  driverName 2 string !
  parameters 3 {string}string ~
VolumeAttributesClassList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []VolumeAttributesClass !
`;
