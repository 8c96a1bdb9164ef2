/** What a Job reads from and writes to its pods: index, tracking finalizer, failures of the index. */

import type { Job } from "#api/generated/batch.v1.ts";
import type { Container, Pod } from "#api/generated/core.v1.ts";
import { jobKind } from "#api/kinds/batch/v1/job.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { patch, type Write } from "#runtime/writes.ts";
import { controllerReference } from "../shared/ownership.ts";
import { podFromTemplate } from "../shared/pods.ts";
import { verdictOn } from "./failure-policy.ts";

export const TRACKING_FINALIZER = "batch.kubernetes.io/job-tracking";
const COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index";
const FAILURE_COUNT = "batch.kubernetes.io/job-index-failure-count";
const IGNORED_FAILURE_COUNT = "batch.kubernetes.io/job-index-ignored-failure-count";
const INDEX_VARIABLE = "JOB_COMPLETION_INDEX";
const INT32_MAX = 2 ** 31 - 1;
/** Room for the five letters that the server adds. */
const GENERATED_PREFIX_MAX = 58;

export function isTracked({ metadata }: Pod): boolean {
  return metadata.finalizers?.includes(TRACKING_FINALIZER) ?? false;
}

export function untrack(pod: Pod): Write {
  return patch(podKind, pod, "strategic", {
    metadata: { "$deleteFromPrimitiveList/finalizers": [TRACKING_FINALIZER] },
  });
}

/** The completion index of a pod; undefined if it has none. */
export function indexOf({ metadata }: Pod): number | undefined {
  const text = metadata.annotations?.[COMPLETION_INDEX];
  return text !== undefined && /^\+?\d+$/.test(text) ? Number(text) : undefined;
}

export function isIndexed({ spec }: Job): boolean {
  return spec.completionMode === "Indexed";
}

/** Whether only pods that have failed for good are replaced, not those that are on their way out. */
export function replacesOnlyFailed({ spec }: Job): boolean {
  return spec.podReplacementPolicy === "Failed" || spec.podFailurePolicy !== undefined;
}

/** A pod that was deleted counts as failed too, since it may never get to say so. */
export function hasFailed(pod: Pod, job: Job): boolean {
  if (pod.status.phase === "Failed") return true;
  if (replacesOnlyFailed(job)) return false;
  return pod.metadata.deletionTimestamp !== undefined && pod.status.phase !== "Succeeded";
}

/** How often pods of this index had failed before this one, ignored failures left out. */
export function earlierFailures(pod: Pod): number {
  return countIn(pod, FAILURE_COUNT);
}

export function allEarlierFailures(pod: Pod): number {
  return earlierFailures(pod) + countIn(pod, IGNORED_FAILURE_COUNT);
}

/** A pod of the Job; of an index if it has them, counting on from the pod that it replaces. */
export function newPod(job: Job, index: number | undefined, replaced: Pod | undefined): Pod {
  const pod = podFromTemplate(job.spec.template, job, controllerReference(jobKind, job));
  const finalizers = [...new Set([...(pod.metadata.finalizers ?? []), TRACKING_FINALIZER])];
  if (index === undefined) return { ...pod, metadata: { ...pod.metadata, finalizers } };
  const { annotations, labels } = pod.metadata;
  const own = { [COMPLETION_INDEX]: String(index) };
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      finalizers,
      generateName: generateName(job.metadata.name ?? "", index),
      labels: { ...labels, ...own },
      annotations: { ...annotations, ...own, ...failureCounts(job, replaced) },
    },
    spec: withIndexVariable({ ...pod.spec, hostname: `${job.metadata.name}-${index}` }),
  };
}

function generateName(jobName: string, index: number): string {
  const suffix = `-${index}-`;
  return jobName.slice(0, GENERATED_PREFIX_MAX - suffix.length) + suffix;
}

function failureCounts(job: Job, replaced: Pod | undefined): Readonly<Record<string, string>> {
  if (job.spec.backoffLimitPerIndex === undefined) return {};
  if (replaced === undefined) return { [FAILURE_COUNT]: "0" };
  const { counts } = verdictOn(replaced, job);
  const failures = earlierFailures(replaced) + (counts ? 1 : 0);
  const ignored = countIn(replaced, IGNORED_FAILURE_COUNT) + (counts ? 0 : 1);
  return {
    [FAILURE_COUNT]: String(failures),
    ...(ignored === 0 ? {} : { [IGNORED_FAILURE_COUNT]: String(ignored) }),
  };
}

function withIndexVariable(spec: Pod["spec"]): Pod["spec"] {
  const fieldRef = { fieldPath: `metadata.labels['${COMPLETION_INDEX}']` };
  const withVariable = <C extends Container>(container: C): C =>
    container.env?.some(({ name }) => name === INDEX_VARIABLE)
      ? container
      : {
          ...container,
          env: [...(container.env ?? []), { name: INDEX_VARIABLE, valueFrom: { fieldRef } }],
        };
  const { initContainers } = spec;
  return {
    ...spec,
    containers: (spec.containers ?? []).map(withVariable),
    ...(initContainers === undefined ? {} : { initContainers: initContainers.map(withVariable) }),
  };
}

function countIn({ metadata }: Pod, annotation: string): number {
  const count = Number(metadata.annotations?.[annotation] ?? 0);
  return Number.isInteger(count) && count >= 0 && count <= INT32_MAX ? count : 0;
}
