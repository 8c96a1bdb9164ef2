/** Facts of resource.v1: format in format.md beside this file. */
export const resourceV1 = `\
group resource.k8s.io
version v1
openapi io.k8s.api.resource.v1
proto k8s.io.api.resource.v1
= QualifiedName string
= FullyQualifiedName string
= DeviceTaintEffect string
= DeviceAllocationMode string
= DeviceTolerationOperator string
= AllocationConfigSource string
ResourceSlice
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 ResourceSliceSpec !
ResourceSliceSpec
  driver 1 string !
  pool 2 ResourcePool !
  nodeName 3 *string ~
  nodeSelector 4 *core.v1.NodeSelector ~
  allNodes 5 *bool ~
  devices 6 []Device ~ atomic
  perDeviceNodeSelection 7 *bool ~
  sharedCounters 8 []CounterSet ~ atomic
CounterSet
  name 1 string !
  counters 2 {string}Counter ~ !
ResourcePool
  name 1 string !
  generation 2 int64 !
  resourceSliceCount 3 int64 !
Device
  name 1 string !
  attributes 2 {QualifiedName}DeviceAttribute ~
  capacity 3 {QualifiedName}DeviceCapacity ~
  consumesCounters 4 []DeviceCounterConsumption ~ atomic
  nodeName 5 *string ~
  nodeSelector 6 *core.v1.NodeSelector ~
  allNodes 7 *bool ~
  taints 8 []DeviceTaint ~ atomic
  bindsToNode 9 *bool ~
  bindingConditions 10 []string ~ atomic
  bindingFailureConditions 11 []string ~ atomic
  allowMultipleAllocations 12 *bool ~
  nodeAllocatableResourceMappings 13 {core.v1.ResourceName}NodeAllocatableResourceMapping ~
NodeAllocatableResourceMapping
  capacityKey 1 *QualifiedName ~
  allocationMultiplier 2 *Quantity ~
DeviceCounterConsumption
  counterSet 1 string !
  counters 2 {string}Counter ~ !
DeviceCapacity
  value 1 Quantity !
  requestPolicy 2 *CapacityRequestPolicy ~
Counter
  value 1 Quantity !
CapacityRequestPolicy
  default 1 *Quantity
  validValues 3 []Quantity ~ atomic
  validRange 4 *CapacityRequestPolicyRange ~
CapacityRequestPolicyRange
  min 1 *Quantity ~ !
  max 2 *Quantity ~
  step 3 *Quantity ~
DeviceAttribute
  int 2 *int64 ~
  bool 3 *bool ~
  string 4 *string ~
  version 5 *string ~
  ints 6 []int64 ~ atomic
  bools 7 []bool ~ atomic
  strings 8 []string ~ atomic
  versions 9 []string ~ atomic
DeviceTaint
  key 1 string !
  value 2 string ~
  effect 3 DeviceTaintEffect ! enum(NoExecute|NoSchedule|None)
  timeAdded 4 *Time ~
ResourceSliceList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []ResourceSlice !
ResourceClaim
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 ResourceClaimSpec !
  status 3 ResourceClaimStatus ~
ResourceClaimSpec
  devices 1 DeviceClaim
DeviceClaim
  requests 1 []DeviceRequest atomic
  constraints 2 []DeviceConstraint ~ atomic
  config 3 []DeviceClaimConfiguration ~ atomic
DeviceRequest
  name 1 string !
  exactly 2 *ExactDeviceRequest ~
  firstAvailable 3 []DeviceSubRequest ~ atomic
ExactDeviceRequest
  deviceClassName 1 string !
  selectors 2 []DeviceSelector ~ atomic
  allocationMode 3 DeviceAllocationMode ~ enum(All|ExactCount)
  count 4 int64 ~
  adminAccess 5 *bool ~
  tolerations 6 []DeviceToleration ~ atomic
  capacity 7 *CapacityRequirements ~
DeviceSubRequest
  name 1 string !
  deviceClassName 2 string !
  selectors 3 []DeviceSelector ~ atomic
  allocationMode 4 DeviceAllocationMode ~ enum(All|ExactCount)
  count 5 int64 ~
  tolerations 6 []DeviceToleration ~ atomic
  capacity 7 *CapacityRequirements ~
CapacityRequirements
  requests 1 {QualifiedName}Quantity ~
DeviceSelector
  cel 1 *CELDeviceSelector ~
CELDeviceSelector
  expression 1 string !
DeviceConstraint
  requests 1 []string ~ atomic
  matchAttribute 2 *FullyQualifiedName ~
  distinctAttribute 3 *FullyQualifiedName ~
DeviceClaimConfiguration
  requests 1 []string ~ atomic
  + DeviceConfiguration 2
DeviceConfiguration
  opaque 1 *OpaqueDeviceConfiguration ~
OpaqueDeviceConfiguration
  driver 1 string !
  parameters 2 RawExtension !
DeviceToleration
  key 1 string ~
  operator 2 DeviceTolerationOperator ~ enum(Equal|Exists) default("Equal")
  value 3 string ~
  effect 4 DeviceTaintEffect ~ enum(NoExecute|NoSchedule|None)
  tolerationSeconds 5 *int64 ~
ResourceClaimStatus
  allocation 1 *AllocationResult ~
  reservedFor 2 []ResourceClaimConsumerReference ~ map(uid) patch(merge:uid)
  devices 4 []AllocatedDeviceStatus ~ map(driver,device,pool,shareID)
ResourceClaimConsumerReference
  apiGroup 1 string ~
  resource 3 string !
  name 4 string !
  uid 5 UID !
AllocationResult
  devices 1 DeviceAllocationResult ~
  nodeSelector 3 *core.v1.NodeSelector ~
  allocationTimestamp 5 *Time ~
DeviceAllocationResult
  results 1 []DeviceRequestAllocationResult ~ atomic
  config 2 []DeviceAllocationConfiguration ~ atomic
DeviceRequestAllocationResult
  request 1 string !
  driver 2 string !
  pool 3 string !
  device 4 string !
  adminAccess 5 *bool ~
  tolerations 6 []DeviceToleration ~ atomic
  bindingConditions 7 []string ~ atomic
  bindingFailureConditions 8 []string ~ atomic
  shareID 9 *UID ~
  consumedCapacity 10 {QualifiedName}Quantity ~
DeviceAllocationConfiguration
  source 1 AllocationConfigSource ! enum(FromClaim|FromClass)
  requests 2 []string ~ atomic
  + DeviceConfiguration 3
ResourceClaimList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []ResourceClaim !
DeviceClass
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 DeviceClassSpec !
DeviceClassSpec
  selectors 1 []DeviceSelector ~ atomic
  config 2 []DeviceClassConfiguration ~ atomic
  extendedResourceName 4 *string ~
DeviceClassConfiguration
  + DeviceConfiguration 1
DeviceClassList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []DeviceClass !
ResourceClaimTemplate
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 ResourceClaimTemplateSpec !
ResourceClaimTemplateSpec
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 ResourceClaimSpec !
ResourceClaimTemplateList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []ResourceClaimTemplate !
AllocatedDeviceStatus
  driver 1 string !
  pool 2 string !
  device 3 string !
  shareID 7 *string ~
  conditions 4 []meta.v1.Condition map(type)
  data 5 *RawExtension ~
  networkData 6 *NetworkDeviceData ~
NetworkDeviceData
  interfaceName 1 string ~
  ips 2 []string ~ atomic
  hardwareAddress 3 string ~
`;
