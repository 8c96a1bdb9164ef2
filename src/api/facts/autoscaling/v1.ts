/** Facts of autoscaling.v1: format in format.md beside this file. */
export const autoscalingV1 = `\
group autoscaling
version v1
openapi io.k8s.api.autoscaling.v1
proto k8s.io.api.autoscaling.v1
= MetricSourceType string
= HorizontalPodAutoscalerConditionType string
CrossVersionObjectReference atomic
  kind 1 string !
  name 2 string !
  apiVersion 3 string ~
HorizontalPodAutoscalerSpec
  scaleTargetRef 1 CrossVersionObjectReference !
  minReplicas 2 *int32 ~
  maxReplicas 3 int32 !
  targetCPUUtilizationPercentage 4 *int32 ~
HorizontalPodAutoscalerStatus
  observedGeneration 1 *int64 ~
  lastScaleTime 2 *Time ~
  currentReplicas 3 int32 !
  desiredReplicas 4 int32 !
  currentCPUUtilizationPercentage 5 *int32 ~
HorizontalPodAutoscaler
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 HorizontalPodAutoscalerSpec ~ !
  status 3 HorizontalPodAutoscalerStatus ~
HorizontalPodAutoscalerList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []HorizontalPodAutoscaler !
Scale
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 ScaleSpec ~
  status 3 ScaleStatus ~
ScaleSpec
  replicas 1 int32 ~ default(0)
ScaleStatus
  replicas 1 int32 !
  selector 2 string ~
MetricSpec
  type 1 MetricSourceType
  object 2 *ObjectMetricSource ~
  pods 3 *PodsMetricSource ~
  resource 4 *ResourceMetricSource ~
  containerResource 7 *ContainerResourceMetricSource ~
  external 5 *ExternalMetricSource ~
ObjectMetricSource
  target 1 CrossVersionObjectReference
  metricName 2 string
  targetValue 3 Quantity
  selector 4 *meta.v1.LabelSelector ~
  averageValue 5 *Quantity ~
PodsMetricSource
  metricName 1 string
  targetAverageValue 2 Quantity
  selector 3 *meta.v1.LabelSelector ~
ResourceMetricSource
  name 1 core.v1.ResourceName
  targetAverageUtilization 2 *int32 ~
  targetAverageValue 3 *Quantity ~
ContainerResourceMetricSource
  name 1 core.v1.ResourceName
  targetAverageUtilization 2 *int32 ~
  targetAverageValue 3 *Quantity ~
  container 5 string
ExternalMetricSource
  metricName 1 string
  metricSelector 2 *meta.v1.LabelSelector ~
  targetValue 3 *Quantity ~
  targetAverageValue 4 *Quantity ~
MetricStatus
  type 1 MetricSourceType
  object 2 *ObjectMetricStatus ~
  pods 3 *PodsMetricStatus ~
  resource 4 *ResourceMetricStatus ~
  containerResource 7 *ContainerResourceMetricStatus ~
  external 5 *ExternalMetricStatus ~
HorizontalPodAutoscalerCondition
  type 1 HorizontalPodAutoscalerConditionType
  status 2 core.v1.ConditionStatus
  lastTransitionTime 3 Time ~
  reason 4 string ~
  message 5 string ~
ObjectMetricStatus
  target 1 CrossVersionObjectReference
  metricName 2 string
  currentValue 3 Quantity
  selector 4 *meta.v1.LabelSelector ~
  averageValue 5 *Quantity ~
PodsMetricStatus
  metricName 1 string
  currentAverageValue 2 Quantity
  selector 3 *meta.v1.LabelSelector ~
ResourceMetricStatus
  name 1 core.v1.ResourceName
  currentAverageUtilization 2 *int32 ~
  currentAverageValue 3 Quantity
ContainerResourceMetricStatus
  name 1 core.v1.ResourceName
  currentAverageUtilization 2 *int32 ~
  currentAverageValue 3 Quantity
  container 4 string
ExternalMetricStatus
  metricName 1 string
  metricSelector 2 *meta.v1.LabelSelector ~
  currentValue 3 Quantity
  currentAverageValue 4 *Quantity ~
`;
