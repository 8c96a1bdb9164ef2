/** Facts of scheduling.v1alpha2: format in format.md beside this file. */
export const schedulingV1alpha2 = `\
group scheduling.k8s.io
version v1alpha2
openapi io.k8s.api.scheduling.v1alpha2
proto k8s.io.api.scheduling.v1alpha2
= DisruptionMode string
Workload
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 WorkloadSpec !
WorkloadList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []Workload !
WorkloadSpec
  controllerRef 1 *TypedLocalObjectReference ~
  podGroupTemplates 2 []PodGroupTemplate ! map(name)
TypedLocalObjectReference
  apiGroup 1 string ~
  kind 2 string !
  name 3 string !
PodGroupTemplate
  name 1 string !
  schedulingPolicy 2 PodGroupSchedulingPolicy !
  schedulingConstraints 3 *PodGroupSchedulingConstraints
  resourceClaims 4 []PodGroupResourceClaim ~ map(name) patch(merge,retainKeys:name)
  disruptionMode 5 *DisruptionMode ~
  priorityClassName 6 string ~
  priority 7 *int32 ~
PodGroupSchedulingPolicy union(:basic,gang)
  basic 1 *BasicSchedulingPolicy ~
  gang 2 *GangSchedulingPolicy ~
BasicSchedulingPolicy
GangSchedulingPolicy
  minCount 1 int32 !
PodGroupResourceClaim
  name 1 string !
  resourceClaimName 2 *string ~
  resourceClaimTemplateName 3 *string ~
PodGroup
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 PodGroupSpec !
  status 3 PodGroupStatus ~
PodGroupList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []PodGroup !
PodGroupSpec
  podGroupTemplateRef 1 *PodGroupTemplateReference
  schedulingPolicy 2 PodGroupSchedulingPolicy !
  schedulingConstraints 3 *PodGroupSchedulingConstraints ~
  resourceClaims 4 []PodGroupResourceClaim ~ map(name) patch(merge,retainKeys:name)
  disruptionMode 5 *DisruptionMode ~ default("Pod")
  priorityClassName 6 string ~
  priority 7 *int32 ~
PodGroupStatus
  conditions 1 []meta.v1.Condition ~ map(type) patch(merge:type)
  resourceClaimStatuses 2 []PodGroupResourceClaimStatus ~ map(name) patch(merge,retainKeys:name)
PodGroupResourceClaimStatus
  name 1 string !
  resourceClaimName 2 *string ~
PodGroupTemplateReference union(:workload)
  workload 1 *WorkloadPodGroupTemplateReference
WorkloadPodGroupTemplateReference
  workloadName 1 string !
  podGroupTemplateName 2 string !
PodGroupSchedulingConstraints
  topology 1 []TopologyConstraint ~ atomic
TopologyConstraint
  key 1 string !
`;
