/** Facts of apiserverinternal.v1alpha1: format in format.md beside this file. */
export const apiserverinternalV1alpha1 = `\
group internal.apiserver.k8s.io
version v1alpha1
openapi io.k8s.api.apiserverinternal.v1alpha1
proto k8s.io.api.apiserverinternal.v1alpha1
= StorageVersionConditionType string
= ConditionStatus string
StorageVersion
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~ !
  spec 2 StorageVersionSpec
  status 3 StorageVersionStatus
StorageVersionStatus
  storageVersions 1 []ServerStorageVersion ~ map(apiServerID)
  commonEncodingVersion 2 *string ~
  conditions 3 []StorageVersionCondition ~ map(type)
ServerStorageVersion
  apiServerID 1 string ~ !
  encodingVersion 2 string ~ !
  decodableVersions 3 []string ~ ! set
  servedVersions 4 []string ~ set
StorageVersionCondition
  type 1 StorageVersionConditionType !
  status 2 ConditionStatus !
  observedGeneration 3 int64 ~
  lastTransitionTime 4 Time ~
  reason 5 string !
  message 6 string ~ !
StorageVersionList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []StorageVersion !
StorageVersionSpec
`;
