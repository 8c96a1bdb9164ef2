/** Facts of resource.v1alpha3: format in format.md beside this file. */
export const resourceV1alpha3 = `\
group resource.k8s.io
version v1alpha3
openapi io.k8s.api.resource.v1alpha3
proto k8s.io.api.resource.v1alpha3
= DeviceTaintEffect string
DeviceSelector
  cel 1 *CELDeviceSelector ~
CELDeviceSelector
  expression 1 string
DeviceTaint
  key 1 string !
  value 2 string ~
  effect 3 DeviceTaintEffect !
  timeAdded 4 *Time ~
DeviceTaintRule
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 DeviceTaintRuleSpec !
  status 3 DeviceTaintRuleStatus ~
DeviceTaintRuleSpec
  deviceSelector 1 *DeviceTaintSelector ~
  taint 2 DeviceTaint ~ !
DeviceTaintSelector
  driver 2 *string ~
  pool 3 *string ~
  device 4 *string ~
DeviceTaintRuleStatus
  conditions 1 []meta.v1.Condition ~ map(type) patch(merge:type)
DeviceTaintRuleList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []DeviceTaintRule !
ResourcePoolStatusRequest
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~ !
  spec 2 ResourcePoolStatusRequestSpec !
  status 3 *ResourcePoolStatusRequestStatus ~
ResourcePoolStatusRequestSpec
  driver 1 string !
  poolName 2 *string ~
  limit 3 *int32 ~ default(100)
ResourcePoolStatusRequestStatus
  poolCount 6 *int32 ~ !
  pools 2 []PoolStatus ~ atomic
  conditions 3 []meta.v1.Condition ~ map(type) patch(merge:type)
PoolStatus
  driver 1 string ~ !
  poolName 2 string ~ !
  generation 9 int64 !
  resourceSliceCount 8 *int32 ~
  totalDevices 4 *int32 ~
  allocatedDevices 5 *int32 ~
  availableDevices 6 *int32 ~
  unavailableDevices 7 *int32 ~
  nodeName 3 *string ~
  validationError 10 *string ~
ResourcePoolStatusRequestList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []ResourcePoolStatusRequest !
`;
