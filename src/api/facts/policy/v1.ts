/** Facts of policy.v1: format in format.md beside this file. */
export const policyV1 = `\
group policy
version v1
openapi io.k8s.api.policy.v1
proto k8s.io.api.policy.v1
= UnhealthyPodEvictionPolicyType string
PodDisruptionBudgetSpec
  minAvailable 1 *IntOrString ~
  selector 2 *meta.v1.LabelSelector ~ patch(replace)
  maxUnavailable 3 *IntOrString ~
  unhealthyPodEvictionPolicy 4 *UnhealthyPodEvictionPolicyType ~ enum(AlwaysAllow|IfHealthyBudget)
PodDisruptionBudgetStatus
  observedGeneration 1 int64 ~
  disruptedPods 2 {string}Time ~
  disruptionsAllowed 3 int32
  currentHealthy 4 int32
  desiredHealthy 5 int32
  expectedPods 6 int32
  conditions 7 []meta.v1.Condition ~ map(type) patch(merge:type)
PodDisruptionBudget
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 PodDisruptionBudgetSpec ~
  status 3 PodDisruptionBudgetStatus ~
PodDisruptionBudgetList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []PodDisruptionBudget !
Eviction
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  deleteOptions 2 *meta.v1.DeleteOptions ~
`;
