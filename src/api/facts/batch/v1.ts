/** Facts of batch.v1: format in format.md beside this file. */
export const batchV1 = `\
group batch
version v1
openapi io.k8s.api.batch.v1
proto k8s.io.api.batch.v1
= CompletionMode string
= PodFailurePolicyAction string
= PodFailurePolicyOnExitCodesOperator string
= PodReplacementPolicy string
= JobConditionType string
= ConcurrencyPolicy string
Job
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 JobSpec ~
  status 3 JobStatus ~
JobList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []Job !
PodFailurePolicyOnExitCodesRequirement
  containerName 1 *string ~
  operator 2 PodFailurePolicyOnExitCodesOperator ! enum(In|NotIn)
  values 3 []int32 ! set
PodFailurePolicyOnPodConditionsPattern
  type 1 core.v1.PodConditionType !
  status 2 core.v1.ConditionStatus
PodFailurePolicyRule
  action 1 PodFailurePolicyAction ! enum(Count|FailIndex|FailJob|Ignore)
  onExitCodes 2 *PodFailurePolicyOnExitCodesRequirement ~
  onPodConditions 3 []PodFailurePolicyOnPodConditionsPattern ~ atomic
PodFailurePolicy
  rules 1 []PodFailurePolicyRule ! atomic
SuccessPolicy
  rules 1 []SuccessPolicyRule ! atomic
SuccessPolicyRule
  succeededIndexes 1 *string ~
  succeededCount 2 *int32 ~
JobSpec
  parallelism 1 *int32 ~
  completions 2 *int32 ~
  activeDeadlineSeconds 3 *int64 ~
  podFailurePolicy 11 *PodFailurePolicy ~
  successPolicy 16 *SuccessPolicy ~
  backoffLimit 7 *int32 ~
  backoffLimitPerIndex 12 *int32 ~
  maxFailedIndexes 13 *int32 ~
  selector 4 *meta.v1.LabelSelector ~
  manualSelector 5 *bool ~
  template 6 core.v1.PodTemplateSpec !
  ttlSecondsAfterFinished 8 *int32 ~
  completionMode 9 *CompletionMode ~ enum(Indexed|NonIndexed)
  suspend 10 *bool ~
  podReplacementPolicy 14 *PodReplacementPolicy ~ enum(Failed|TerminatingOrFailed)
  managedBy 15 *string ~
JobStatus
  conditions 1 []JobCondition ~ atomic patch(merge:type)
  startTime 2 *Time ~
  completionTime 3 *Time ~
  active 4 int32 ~
  succeeded 5 int32 ~
  failed 6 int32 ~
  terminating 11 *int32 ~
  completedIndexes 7 string ~
  failedIndexes 10 *string ~
  uncountedTerminatedPods 8 *UncountedTerminatedPods ~
  ready 9 *int32 ~
UncountedTerminatedPods
  succeeded 1 []UID ~ set
  failed 2 []UID ~ set
JobCondition
  type 1 JobConditionType !
  status 2 core.v1.ConditionStatus !
  lastProbeTime 3 Time ~
  lastTransitionTime 4 Time ~
  reason 5 string ~
  message 6 string ~
JobTemplateSpec
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 JobSpec ~
CronJob
  + TypeMeta
  metadata 1 meta.v1.ObjectMeta ~
  spec 2 CronJobSpec ~ !
  status 3 CronJobStatus ~
CronJobList
  + TypeMeta
  metadata 1 meta.v1.ListMeta ~
  items 2 []CronJob !
CronJobSpec
  schedule 1 string !
  timeZone 8 *string ~
  startingDeadlineSeconds 2 *int64 ~
  concurrencyPolicy 3 ConcurrencyPolicy ~ enum(Allow|Forbid|Replace)
  suspend 4 *bool ~
  jobTemplate 5 JobTemplateSpec !
  successfulJobsHistoryLimit 6 *int32 ~
  failedJobsHistoryLimit 7 *int32 ~
CronJobStatus
  active 1 []core.v1.ObjectReference ~ atomic
  lastScheduleTime 4 *Time ~
  lastSuccessfulTime 5 *Time ~
`;
