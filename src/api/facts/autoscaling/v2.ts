/** Facts of autoscaling.v2: format in format.md beside this file. */
export const autoscalingV2 = `\
group autoscaling
version v2
openapi io.k8s.api.autoscaling.v2
proto k8s.io.api.autoscaling.v2
= ScalingPolicySelect string
= HPAScalingPolicyType string
= MetricSourceType string
= MetricTargetType string
= HorizontalPodAutoscalerConditionType string
HorizontalPodAutoscaler
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 HorizontalPodAutoscalerSpec ~ !
  status 3 HorizontalPodAutoscalerStatus ~
HorizontalPodAutoscalerSpec
  scaleTargetRef 1 CrossVersionObjectReference !
  minReplicas 2 *int32 ~
  maxReplicas 3 int32 !
  metrics 4 []MetricSpec ~ atomic
  behavior 5 *HorizontalPodAutoscalerBehavior ~
CrossVersionObjectReference
  kind 1 string !
  name 2 string !
  apiVersion 3 string ~
MetricSpec
  type 1 MetricSourceType !
  object 2 *ObjectMetricSource ~
  pods 3 *PodsMetricSource ~
  resource 4 *ResourceMetricSource ~
  containerResource 7 *ContainerResourceMetricSource ~
  external 5 *ExternalMetricSource ~
HorizontalPodAutoscalerBehavior
  scaleUp 1 *HPAScalingRules ~
  scaleDown 2 *HPAScalingRules ~
HPAScalingRules
  stabilizationWindowSeconds 3 *int32 ~
  selectPolicy 1 *ScalingPolicySelect ~
  policies 2 []HPAScalingPolicy ~ atomic
  tolerance 4 *Quantity ~
HPAScalingPolicy
  type 1 HPAScalingPolicyType !
  value 2 int32 !
  periodSeconds 3 int32 !
ObjectMetricSource
  describedObject 1 CrossVersionObjectReference !
  target 2 MetricTarget !
  metric 3 MetricIdentifier !
PodsMetricSource
  metric 1 MetricIdentifier !
  target 2 MetricTarget !
ResourceMetricSource
  name 1 core.v1.ResourceName !
  target 2 MetricTarget !
ContainerResourceMetricSource
  name 1 core.v1.ResourceName !
  target 2 MetricTarget !
  container 3 string !
ExternalMetricSource
  metric 1 MetricIdentifier !
  target 2 MetricTarget !
MetricIdentifier
  name 1 string !
  selector 2 *meta.v1.LabelSelector ~
MetricTarget
  type 1 MetricTargetType !
  value 2 *Quantity ~
  averageValue 3 *Quantity ~
  averageUtilization 4 *int32 ~
HorizontalPodAutoscalerStatus
  observedGeneration 1 *int64 ~
  lastScaleTime 2 *Time ~
  currentReplicas 3 int32 ~
  desiredReplicas 4 int32 !
  currentMetrics 5 []MetricStatus atomic
  conditions 6 []HorizontalPodAutoscalerCondition ~ map(type) patch(merge:type)
HorizontalPodAutoscalerCondition
  type 1 HorizontalPodAutoscalerConditionType !
  status 2 core.v1.ConditionStatus !
  lastTransitionTime 3 Time ~
  reason 4 string ~
  message 5 string ~
MetricStatus
  type 1 MetricSourceType !
  object 2 *ObjectMetricStatus ~
  pods 3 *PodsMetricStatus ~
  resource 4 *ResourceMetricStatus ~
  containerResource 7 *ContainerResourceMetricStatus ~
  external 5 *ExternalMetricStatus ~
ObjectMetricStatus
  metric 1 MetricIdentifier !
  current 2 MetricValueStatus !
  describedObject 3 CrossVersionObjectReference !
PodsMetricStatus
  metric 1 MetricIdentifier !
  current 2 MetricValueStatus !
ResourceMetricStatus
  name 1 core.v1.ResourceName !
  current 2 MetricValueStatus !
ContainerResourceMetricStatus
  name 1 core.v1.ResourceName !
  current 2 MetricValueStatus !
  container 3 string !
ExternalMetricStatus
  metric 1 MetricIdentifier !
  current 2 MetricValueStatus !
MetricValueStatus
  value 1 *Quantity ~
  averageValue 2 *Quantity ~
  averageUtilization 3 *int32 ~
HorizontalPodAutoscalerList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []HorizontalPodAutoscaler !
`;
