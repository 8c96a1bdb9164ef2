/** Facts of apps.v1: format in format.md beside this file. */
export const appsV1 = `\
group apps
version v1
openapi io.k8s.api.apps.v1
proto k8s.io.api.apps.v1
= PodManagementPolicyType string
= StatefulSetUpdateStrategyType string
= PersistentVolumeClaimRetentionPolicyType string
= StatefulSetConditionType string
= DeploymentStrategyType string
= DeploymentConditionType string
= DaemonSetUpdateStrategyType string
= DaemonSetConditionType string
= ReplicaSetConditionType string
StatefulSet
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 StatefulSetSpec ~
  status 3 StatefulSetStatus ~
StatefulSetUpdateStrategy
  type 1 StatefulSetUpdateStrategyType ~ enum(OnDelete|RollingUpdate)
  rollingUpdate 2 *RollingUpdateStatefulSetStrategy ~
RollingUpdateStatefulSetStrategy
  partition 1 *int32 ~
  maxUnavailable 2 *IntOrString ~
StatefulSetPersistentVolumeClaimRetentionPolicy
  whenDeleted 1 PersistentVolumeClaimRetentionPolicyType ~
  whenScaled 2 PersistentVolumeClaimRetentionPolicyType ~
StatefulSetOrdinals
  start 1 int32
StatefulSetSpec
  replicas 1 *int32 ~
  selector 2 *meta.v1.LabelSelector !
  template 3 core.v1.PodTemplateSpec !
  volumeClaimTemplates 4 []core.v1.PersistentVolumeClaim ~ atomic
  serviceName 5 string
  podManagementPolicy 6 PodManagementPolicyType ~ enum(OrderedReady|Parallel)
  updateStrategy 7 StatefulSetUpdateStrategy ~
  revisionHistoryLimit 8 *int32 ~
  minReadySeconds 9 int32 ~
  persistentVolumeClaimRetentionPolicy 10 *StatefulSetPersistentVolumeClaimRetentionPolicy ~
  ordinals 11 *StatefulSetOrdinals ~
StatefulSetStatus
  observedGeneration 1 int64 ~
  replicas 2 int32 !
  readyReplicas 3 int32 ~
  currentReplicas 4 int32 ~
  updatedReplicas 5 int32 ~
  currentRevision 6 string ~
  updateRevision 7 string ~
  collisionCount 9 *int32 ~
  conditions 10 []StatefulSetCondition ~ map(type) patch(merge:type)
  availableReplicas 11 int32
StatefulSetCondition
  type 1 StatefulSetConditionType !
  status 2 core.v1.ConditionStatus !
  lastTransitionTime 3 Time ~
  reason 4 string ~
  message 5 string ~
StatefulSetList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []StatefulSet !
Deployment
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 DeploymentSpec ~
  status 3 DeploymentStatus ~
DeploymentSpec
  replicas 1 *int32 ~
  selector 2 *meta.v1.LabelSelector !
  template 3 core.v1.PodTemplateSpec !
  strategy 4 DeploymentStrategy ~ patch(retainKeys)
  minReadySeconds 5 int32 ~
  revisionHistoryLimit 6 *int32 ~
  paused 7 bool ~
  progressDeadlineSeconds 9 *int32 ~
DeploymentStrategy
  type 1 DeploymentStrategyType ~ enum(Recreate|RollingUpdate)
  rollingUpdate 2 *RollingUpdateDeployment ~
RollingUpdateDeployment
  maxUnavailable 1 *IntOrString ~
  maxSurge 2 *IntOrString ~
DeploymentStatus
  observedGeneration 1 int64 ~
  replicas 2 int32 ~
  updatedReplicas 3 int32 ~
  readyReplicas 7 int32 ~
  availableReplicas 4 int32 ~
  unavailableReplicas 5 int32 ~
  terminatingReplicas 9 *int32 ~
  conditions 6 []DeploymentCondition ~ map(type) patch(merge:type)
  collisionCount 8 *int32 ~
DeploymentCondition
  type 1 DeploymentConditionType !
  status 2 core.v1.ConditionStatus !
  lastUpdateTime 6 Time ~
  lastTransitionTime 7 Time ~
  reason 4 string ~
  message 5 string ~
DeploymentList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []Deployment !
DaemonSetUpdateStrategy
  type 1 DaemonSetUpdateStrategyType ~ enum(OnDelete|RollingUpdate)
  rollingUpdate 2 *RollingUpdateDaemonSet ~
RollingUpdateDaemonSet
  maxUnavailable 1 *IntOrString ~
  maxSurge 2 *IntOrString ~
DaemonSetSpec
  selector 1 *meta.v1.LabelSelector !
  template 2 core.v1.PodTemplateSpec !
  updateStrategy 3 DaemonSetUpdateStrategy ~
  minReadySeconds 4 int32 ~
  revisionHistoryLimit 6 *int32 ~
DaemonSetStatus
  currentNumberScheduled 1 int32 !
  numberMisscheduled 2 int32 !
  desiredNumberScheduled 3 int32 !
  numberReady 4 int32 !
  observedGeneration 5 int64 ~
  updatedNumberScheduled 6 int32 ~
  numberAvailable 7 int32 ~
  numberUnavailable 8 int32 ~
  collisionCount 9 *int32 ~
  conditions 10 []DaemonSetCondition ~ map(type) patch(merge:type)
DaemonSetCondition
  type 1 DaemonSetConditionType !
  status 2 core.v1.ConditionStatus !
  lastTransitionTime 3 Time ~
  reason 4 string ~
  message 5 string ~
DaemonSet
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 DaemonSetSpec ~
  status 3 DaemonSetStatus ~
DaemonSetList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []DaemonSet !
ReplicaSet
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 ReplicaSetSpec ~
  status 3 ReplicaSetStatus ~
ReplicaSetList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []ReplicaSet !
ReplicaSetSpec
  replicas 1 *int32 ~
  minReadySeconds 4 int32 ~
  selector 2 *meta.v1.LabelSelector !
  template 3 core.v1.PodTemplateSpec ~
ReplicaSetStatus
  replicas 1 int32 !
  fullyLabeledReplicas 2 int32 ~
  readyReplicas 4 int32 ~
  availableReplicas 5 int32 ~
  terminatingReplicas 7 *int32 ~
  observedGeneration 3 int64 ~
  conditions 6 []ReplicaSetCondition ~ map(type) patch(merge:type)
ReplicaSetCondition
  type 1 ReplicaSetConditionType !
  status 2 core.v1.ConditionStatus !
  lastTransitionTime 3 Time ~
  reason 4 string ~
  message 5 string ~
ControllerRevision
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  data 2 RawExtension ~
  revision 3 int64 !
ControllerRevisionList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []ControllerRevision !
`;
