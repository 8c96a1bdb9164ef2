/** Facts of meta.v1: format in format.md beside this file. */
export const metaV1 = `\
group meta.k8s.io
version v1
openapi io.k8s.apimachinery.pkg.apis.meta.v1
proto k8s.io.apimachinery.pkg.apis.meta.v1
= ResourceVersionMatch string
= DeletionPropagation string
= StatusReason string
= CauseType string
= Verbs []string message
= LabelSelectorOperator string
= FieldSelectorOperator string
= ManagedFieldsOperationType string
= RowConditionType string
= ConditionStatus string
= IncludeObjectPolicy string
GroupResource
  group 1 string !
  resource 2 string !
GroupVersionResource
  group 1 string
  version 2 string
  resource 3 string
GroupKind
  group 1 string
  kind 2 string
GroupVersionKind
  group 1 string
  version 2 string
  kind 3 string
GroupVersion
  group 1 string
  version 2 string
TypeMeta
  kind 1 string ~
  apiVersion 2 string ~
ListMeta
  selfLink 1 string ~
  resourceVersion 2 string ~
  continue 3 string ~
  remainingItemCount 4 *int64 ~
  shardInfo 5 *ShardInfo ~
ShardInfo
  selector 1 string !
ObjectMeta
  name 1 string ~
  generateName 2 string ~
  namespace 3 string ~
  selfLink 4 string ~
  uid 5 UID ~
  resourceVersion 6 string ~
  generation 7 int64 ~
  creationTimestamp 8 Time ~0
  deletionTimestamp 9 *Time ~
  deletionGracePeriodSeconds 10 *int64 ~
  labels 11 {string}string ~
  annotations 12 {string}string ~
  ownerReferences 13 []OwnerReference ~ map(uid) patch(merge:uid)
  finalizers 14 []string ~ set patch(merge)
  managedFields 17 []ManagedFieldsEntry ~ atomic
OwnerReference atomic
  apiVersion 5 string !
  kind 1 string !
  name 3 string !
  uid 4 UID !
  controller 6 *bool ~
  blockOwnerDeletion 7 *bool ~
ListOptions
  + TypeMeta
  labelSelector 1 string ~
  fieldSelector 2 string ~
  watch 3 bool ~
  allowWatchBookmarks 9 bool ~
  resourceVersion 4 string ~
  resourceVersionMatch 10 ResourceVersionMatch ~
  timeoutSeconds 5 *int64 ~
  limit 7 int64 ~
  continue 8 string ~
  sendInitialEvents 11 *bool ~
  shardSelector 15 string ~
GetOptions
  + TypeMeta
  resourceVersion 1 string ~
DeleteOptions
  + TypeMeta
  gracePeriodSeconds 1 *int64 ~
  preconditions 2 *Preconditions ~
  orphanDependents 3 *bool ~
  propagationPolicy 4 *DeletionPropagation ~
  dryRun 5 []string ~ atomic
  ignoreStoreReadErrorWithClusterBreakingPotential 6 *bool ~
CreateOptions
  + TypeMeta
  dryRun 1 []string ~
  fieldManager 3 string ~
  fieldValidation 4 string ~
PatchOptions
  + TypeMeta
  dryRun 1 []string ~
  force 2 *bool ~
  fieldManager 3 string ~
  fieldValidation 4 string ~
ApplyOptions
  + TypeMeta
  dryRun 1 []string ~
  force 2 bool
  fieldManager 3 string
UpdateOptions
  + TypeMeta
  dryRun 1 []string ~
  fieldManager 2 string ~
  fieldValidation 3 string ~
Preconditions
  uid 1 *UID ~
  resourceVersion 2 *string ~
Status
  + TypeMeta
  metadata 1 ListMeta ~
  status 2 string ~
  message 3 string ~
  reason 4 StatusReason ~
  details 5 *StatusDetails ~
  code 6 int32 ~
StatusDetails
  name 1 string ~
  group 2 string ~
  kind 3 string ~
  uid 6 UID ~
  causes 4 []StatusCause ~ atomic
  retryAfterSeconds 5 int32 ~
StatusCause
  reason 1 CauseType ~
  message 2 string ~
  field 3 string ~
List
  + TypeMeta
  metadata 1 ListMeta ~
  items 2 []RawExtension
APIVersions
  + TypeMeta
  versions 1 []string ! atomic
  serverAddressByClientCIDRs 2 []ServerAddressByClientCIDR ! atomic
APIGroupList
  + TypeMeta
  groups 1 []APIGroup ! atomic
APIGroup
  + TypeMeta
  name 1 string !
  versions 2 []GroupVersionForDiscovery ! atomic
  preferredVersion 3 GroupVersionForDiscovery ~
  serverAddressByClientCIDRs 4 []ServerAddressByClientCIDR ~ atomic
ServerAddressByClientCIDR
  clientCIDR 1 string !
  serverAddress 2 string !
GroupVersionForDiscovery
  groupVersion 1 string !
  version 2 string !
APIResource
  name 1 string !
  singularName 6 string !
  namespaced 2 bool !
  group 8 string ~
  version 9 string ~
  kind 3 string !
  verbs 4 Verbs !
  shortNames 5 []string ~ atomic
  categories 7 []string ~ atomic
  storageVersionHash 10 string ~
APIResourceList
  + TypeMeta
  groupVersion 1 string !
  resources 2 []APIResource ! atomic
RootPaths
  paths 1 []string
LabelSelector atomic
  matchLabels 1 {string}string ~
  matchExpressions 2 []LabelSelectorRequirement ~ atomic
LabelSelectorRequirement
  key 1 string !
  operator 2 LabelSelectorOperator !
  values 3 []string ~ atomic
FieldSelectorRequirement
  key 1 string !
  operator 2 FieldSelectorOperator !
  values 3 []string ~ atomic
ManagedFieldsEntry
  manager 1 string ~
  operation 2 ManagedFieldsOperationType ~
  apiVersion 3 string ~
  time 4 *Time ~
  fieldsType 6 string ~
  fieldsV1 7 *FieldsV1 ~
  subresource 8 string ~
Table
  + TypeMeta
  metadata - ListMeta ~
  columnDefinitions - []TableColumnDefinition
  rows - []TableRow
TableColumnDefinition
  name - string
  type - string
  format - string
  description - string
  priority - int32
TableRow
  cells - []interface{}
  conditions - []TableRowCondition ~
  object - RawExtension ~
TableRowCondition
  type - RowConditionType
  status - ConditionStatus
  reason - string ~
  message - string ~
TableOptions
  + TypeMeta
  includeObject 1 IncludeObjectPolicy ~
PartialObjectMetadata
  + TypeMeta
  metadata 1 ObjectMeta ~
PartialObjectMetadataList
  + TypeMeta
  metadata 1 ListMeta ~
  items 2 []PartialObjectMetadata
Condition
  type 1 string !
  status 2 ConditionStatus !
  observedGeneration 3 int64 ~
  lastTransitionTime 4 Time !
  reason 5 string !
  message 6 string !
WatchEvent
  type 1 string !
  object 2 RawExtension !
`;
