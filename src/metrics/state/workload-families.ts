/** What workloads say under the names of kube-state-metrics. Pure. */
import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from "#api/generated/apps.v1.ts";
import type { HorizontalPodAutoscaler } from "#api/generated/autoscaling.v2.ts";
import type { CronJob, Job } from "#api/generated/batch.v1.ts";
import type { PodDisruptionBudget } from "#api/generated/policy.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import {
  conditionSamples,
  type LabelValues,
  type StateFamilies,
  type StateSample,
  sample,
} from "./metric-family.ts";
import { seconds } from "./pod-families.ts";

/** One number of each object. */
function numbers<T extends KubeObject>(
  label: string,
  values: Readonly<Record<string, (object: T) => number | undefined>>,
): StateFamilies<T> {
  const prefix = `kube_${label}`;
  const named = Object.entries(values).map(
    ([name, value]) =>
      [`${prefix}_${name}`, (object: T) => sample(labelsOf(label, object), value(object))] as const,
  );
  return {
    [`${prefix}_created`]: (object) =>
      sample(labelsOf(label, object), seconds(object.metadata.creationTimestamp)),
    [`${prefix}_metadata_generation`]: (object) =>
      sample(labelsOf(label, object), object.metadata.generation),
    ...Object.fromEntries(named),
  };
}

export const deploymentFamilies: StateFamilies<Deployment> = {
  ...numbers<Deployment>("deployment", {
    spec_paused: ({ spec }) => Number(spec.paused === true),
    spec_replicas: ({ spec }) => spec.replicas ?? 1,
    status_replicas: ({ status }) => status?.replicas ?? 0,
    status_replicas_available: ({ status }) => status?.availableReplicas ?? 0,
    status_replicas_ready: ({ status }) => status?.readyReplicas ?? 0,
    status_replicas_unavailable: ({ status }) => status?.unavailableReplicas ?? 0,
    status_replicas_updated: ({ status }) => status?.updatedReplicas ?? 0,
    status_observed_generation: ({ status }) => status?.observedGeneration ?? 0,
  }),
  kube_deployment_status_condition: (object) =>
    conditionSamples(labelsOf("deployment", object), object.status?.conditions ?? []),
};

export const replicaSetFamilies: StateFamilies<ReplicaSet> = {
  ...numbers<ReplicaSet>("replicaset", {
    spec_replicas: ({ spec }) => spec.replicas ?? 1,
    status_replicas: ({ status }) => status?.replicas ?? 0,
    status_ready_replicas: ({ status }) => status?.readyReplicas ?? 0,
    status_fully_labeled_replicas: ({ status }) => status?.fullyLabeledReplicas ?? 0,
    status_observed_generation: ({ status }) => status?.observedGeneration ?? 0,
  }),
  kube_replicaset_owner: (object) => owners("replicaset", object),
};

export const statefulSetFamilies: StateFamilies<StatefulSet> = {
  ...numbers<StatefulSet>("statefulset", {
    replicas: ({ spec }) => spec.replicas ?? 1,
    status_replicas: ({ status }) => status?.replicas ?? 0,
    status_replicas_available: ({ status }) => status?.availableReplicas ?? 0,
    status_replicas_current: ({ status }) => status?.currentReplicas ?? 0,
    status_replicas_ready: ({ status }) => status?.readyReplicas ?? 0,
    status_replicas_updated: ({ status }) => status?.updatedReplicas ?? 0,
    status_observed_generation: ({ status }) => status?.observedGeneration ?? 0,
  }),
  kube_statefulset_status_current_revision: (object) =>
    revision(labelsOf("statefulset", object), object.status?.currentRevision),
  kube_statefulset_status_update_revision: (object) =>
    revision(labelsOf("statefulset", object), object.status?.updateRevision),
};

export const daemonSetFamilies: StateFamilies<DaemonSet> = numbers<DaemonSet>("daemonset", {
  status_current_number_scheduled: ({ status }) => status?.currentNumberScheduled ?? 0,
  status_desired_number_scheduled: ({ status }) => status?.desiredNumberScheduled ?? 0,
  status_number_available: ({ status }) => status?.numberAvailable ?? 0,
  status_number_misscheduled: ({ status }) => status?.numberMisscheduled ?? 0,
  status_number_ready: ({ status }) => status?.numberReady ?? 0,
  status_number_unavailable: ({ status }) => status?.numberUnavailable ?? 0,
  status_observed_generation: ({ status }) => status?.observedGeneration ?? 0,
  status_updated_number_scheduled: ({ status }) => status?.updatedNumberScheduled ?? 0,
});

export const jobFamilies: StateFamilies<Job> = {
  ...jobNumbers(),
  kube_job_info: (object) => sample(jobLabels(object), 1),
  kube_job_owner: (object) => owners("job_name", object),
  kube_job_complete: (object) => jobCondition(object, "Complete"),
  kube_job_failed: (object) => jobCondition(object, "Failed"),
};

function jobNumbers(): StateFamilies<Job> {
  const values: Readonly<Record<string, (job: Job) => number | undefined>> = {
    created: ({ metadata }) => seconds(metadata.creationTimestamp),
    spec_parallelism: ({ spec }) => spec.parallelism,
    spec_completions: ({ spec }) => spec.completions,
    spec_active_deadline_seconds: ({ spec }) => spec.activeDeadlineSeconds,
    status_active: ({ status }) => status?.active ?? 0,
    status_succeeded: ({ status }) => status?.succeeded ?? 0,
    status_failed: ({ status }) => status?.failed ?? 0,
    status_start_time: ({ status }) => seconds(status?.startTime),
    status_completion_time: ({ status }) => seconds(status?.completionTime),
  };
  const named = Object.entries(values).map(
    ([name, value]) =>
      [`kube_job_${name}`, (object: Job) => sample(jobLabels(object), value(object))] as const,
  );
  return Object.fromEntries(named);
}

export const cronJobFamilies: StateFamilies<CronJob> = {
  kube_cronjob_info: (object) => {
    const { schedule, concurrencyPolicy = "", timeZone = "local" } = object.spec;
    const more = { schedule, concurrency_policy: concurrencyPolicy, timezone: timeZone };
    return sample({ ...labelsOf("cronjob", object), ...more }, 1);
  },
  ...numbers<CronJob>("cronjob", {
    spec_suspend: ({ spec }) => Number(spec.suspend === true),
    status_active: ({ status }) => status?.active?.length ?? 0,
    status_last_schedule_time: ({ status }) => seconds(status?.lastScheduleTime),
    status_last_successful_time: ({ status }) => seconds(status?.lastSuccessfulTime),
  }),
};

export const autoscalerFamilies: StateFamilies<HorizontalPodAutoscaler> = {
  kube_horizontalpodautoscaler_info: (object) => {
    const { apiVersion = "", kind, name } = object.spec.scaleTargetRef;
    const target = {
      scaletargetref_api_version: apiVersion,
      ...{ scaletargetref_kind: kind, scaletargetref_name: name },
    };
    return sample({ ...labelsOf("horizontalpodautoscaler", object), ...target }, 1);
  },
  ...numbers<HorizontalPodAutoscaler>("horizontalpodautoscaler", {
    spec_max_replicas: ({ spec }) => spec.maxReplicas,
    spec_min_replicas: ({ spec }) => spec.minReplicas ?? 1,
    status_current_replicas: ({ status }) => status?.currentReplicas ?? 0,
    status_desired_replicas: ({ status }) => status?.desiredReplicas ?? 0,
  }),
  kube_horizontalpodautoscaler_status_condition: (object) =>
    conditionSamples(labelsOf("horizontalpodautoscaler", object), object.status?.conditions ?? []),
};

export const disruptionBudgetFamilies: StateFamilies<PodDisruptionBudget> =
  numbers<PodDisruptionBudget>("poddisruptionbudget", {
    status_current_healthy: ({ status }) => status?.currentHealthy ?? 0,
    status_desired_healthy: ({ status }) => status?.desiredHealthy ?? 0,
    status_pod_disruptions_allowed: ({ status }) => status?.disruptionsAllowed ?? 0,
    status_expected_pods: ({ status }) => status?.expectedPods ?? 0,
    status_observed_generation: ({ status }) => status?.observedGeneration ?? 0,
  });

function labelsOf(label: string, { metadata: { namespace, name } }: KubeObject): LabelValues {
  return { namespace, [label]: name };
}

function jobLabels({ metadata: { namespace, name } }: Job): LabelValues {
  return { namespace, job_name: name };
}

function revision(labels: LabelValues, name: string | undefined): readonly StateSample[] {
  return name === undefined ? [] : sample({ ...labels, revision: name }, 1);
}

function jobCondition(job: Job, type: string): readonly StateSample[] {
  const found = job.status?.conditions?.find((one) => one.type === type);
  if (found === undefined) return [];
  return ["true", "false", "unknown"].flatMap((condition) =>
    sample({ ...jobLabels(job), condition }, Number(found.status.toLowerCase() === condition)),
  );
}

function owners(label: string, object: KubeObject): readonly StateSample[] {
  const refs = object.metadata.ownerReferences ?? [];
  const of = (kind: string, name: string, controls: string): readonly StateSample[] =>
    sample(
      {
        ...{ ...labelsOf(label, object), owner_kind: kind, owner_name: name },
        owner_is_controller: controls,
      },
      1,
    );
  if (refs.length === 0) return of("", "", "");
  return refs.flatMap(({ kind, name, controller }) => of(kind, name, String(controller === true)));
}
