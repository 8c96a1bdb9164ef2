/** Facts of flowcontrol.v1: format in format.md beside this file. */
export const flowcontrolV1 = `\
group flowcontrol.apiserver.k8s.io
version v1
openapi io.k8s.api.flowcontrol.v1
proto k8s.io.api.flowcontrol.v1
= FlowDistinguisherMethodType string
= SubjectKind string
= FlowSchemaConditionType string
= PriorityLevelEnablement string
= LimitResponseType string
= PriorityLevelConfigurationConditionType string
= ConditionStatus string
FlowSchema
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 FlowSchemaSpec ~
  status 3 FlowSchemaStatus ~
FlowSchemaList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []FlowSchema !
FlowSchemaSpec
  priorityLevelConfiguration 1 PriorityLevelConfigurationReference !
  matchingPrecedence 2 int32
  distinguisherMethod 3 *FlowDistinguisherMethod ~
  rules 4 []PolicyRulesWithSubjects ~ atomic
FlowDistinguisherMethod
  type 1 FlowDistinguisherMethodType !
PriorityLevelConfigurationReference
  name 1 string !
PolicyRulesWithSubjects
  subjects 1 []Subject ! atomic
  resourceRules 2 []ResourcePolicyRule ~ atomic
  nonResourceRules 3 []NonResourcePolicyRule ~ atomic
Subject union(kind:user,group,serviceAccount)
  kind 1 SubjectKind !
  user 2 *UserSubject ~
  group 3 *GroupSubject ~
  serviceAccount 4 *ServiceAccountSubject ~
UserSubject
  name 1 string !
GroupSubject
  name 1 string !
ServiceAccountSubject
  namespace 1 string !
  name 2 string !
ResourcePolicyRule
  verbs 1 []string ! set
  apiGroups 2 []string ! set
  resources 3 []string ! set
  clusterScope 4 bool ~
  namespaces 5 []string set
NonResourcePolicyRule
  verbs 1 []string ! set
  nonResourceURLs 6 []string ! set
FlowSchemaStatus
  conditions 1 []FlowSchemaCondition ~ map(type) patch(merge:type)
FlowSchemaCondition
  type 1 FlowSchemaConditionType ~
  status 2 ConditionStatus ~
  lastTransitionTime 3 Time ~
  reason 4 string ~
  message 5 string ~
PriorityLevelConfiguration
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 PriorityLevelConfigurationSpec ~
  status 3 PriorityLevelConfigurationStatus ~
PriorityLevelConfigurationList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []PriorityLevelConfiguration !
PriorityLevelConfigurationSpec union(type:limited,exempt)
  type 1 PriorityLevelEnablement !
  limited 2 *LimitedPriorityLevelConfiguration ~
  exempt 3 *ExemptPriorityLevelConfiguration ~
LimitedPriorityLevelConfiguration
  nominalConcurrencyShares 1 *int32
  limitResponse 2 LimitResponse ~
  lendablePercent 3 *int32 ~
  borrowingLimitPercent 4 *int32 ~
ExemptPriorityLevelConfiguration
  nominalConcurrencyShares 1 *int32 ~
  lendablePercent 2 *int32 ~
LimitResponse union(type:queuing)
  type 1 LimitResponseType !
  queuing 2 *QueuingConfiguration ~
QueuingConfiguration
  queues 1 int32
  handSize 2 int32
  queueLengthLimit 3 int32
PriorityLevelConfigurationStatus
  conditions 1 []PriorityLevelConfigurationCondition ~ map(type) patch(merge:type)
PriorityLevelConfigurationCondition
  type 1 PriorityLevelConfigurationConditionType ~
  status 2 ConditionStatus ~
  lastTransitionTime 3 Time ~
  reason 4 string ~
  message 5 string ~
`;
