/** What is measured of jobs: how often they are looked at, how they end, and when they start and go. */

import type { Job, JobCondition } from "#api/generated/batch.v1.ts";
import { jobKind } from "#api/kinds/batch/v1/job.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { timeToMs } from "#api/meta/time.ts";
import type { Measure, Outcome } from "#runtime/controller.ts";
import { exponential, objectsOf, writesOf } from "./common.ts";

const SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/** Of the part of the controller's state that is a job. */
type JobSeen = { readonly about: string; readonly job?: Job };

export const measureJobs: Measure<JobSeen> = (metrics) => {
  const labels = ["completion_mode", "result", "action"];
  const syncs = metrics.counter({
    name: "job_controller_job_syncs_total",
    help: "How often jobs were looked at.",
    labels,
  });
  const seconds = metrics.histogram({
    name: "job_controller_job_sync_duration_seconds",
    help: "How long it took to look at a job.",
    labels,
    buckets: exponential(0.004, 2, 15),
  });
  const finished = metrics.counter({
    name: "job_controller_jobs_finished_total",
    help: "Jobs that have ended.",
    labels: ["completion_mode", "result", "reason"],
  });
  const pods = metrics.counter({
    name: "job_controller_job_pods_finished_total",
    help: "Pods of jobs that have ended and were counted.",
    labels: ["completion_mode", "result"],
  });
  return ({ state: { job }, outcome, refused, seconds: took }) => {
    if (job === undefined || endOf(job) !== undefined) return;
    const mode = job.spec.completionMode ?? "NonIndexed";
    const sync = [mode, refused === undefined ? "success" : "error", actionOf(outcome)] as const;
    syncs(...sync).add(1);
    seconds(...sync).observe(took);
    if (refused !== undefined) return;
    const next = objectsOf(outcome, "update", jobKind).at(-1);
    if (next === undefined) return;
    const more = (now = 0, before = 0): number => Math.max(0, now - before);
    pods(mode, "succeeded").add(more(next.status.succeeded, job.status.succeeded));
    pods(mode, "failed").add(more(next.status.failed, job.status.failed));
    const end = endOf(next);
    if (end === undefined) return;
    finished(mode, end.type === "Complete" ? "succeeded" : "failed", end.reason ?? "").add(1);
  };
};

export const measureCronJobs: Measure<unknown> = (metrics) => {
  const skew = metrics.histogram({
    name: "cronjob_controller_job_creation_skew_duration_seconds",
    help: "How long after its time a job was made.",
    buckets: exponential(1, 2, 10),
  })();
  return ({ outcome, refused, nowMs }) => {
    if (refused !== undefined) return;
    for (const { metadata } of objectsOf(outcome, "create", jobKind)) {
      const atMs = Date.parse(metadata.annotations?.[SCHEDULED_AT] ?? "");
      if (!Number.isNaN(atMs)) skew.observe(Math.max(0, nowMs - atMs) / 1000);
    }
  };
};

export const measureExpiredJobs: Measure<Job | undefined> = (metrics) => {
  const delay = metrics.histogram({
    name: "ttl_after_finished_controller_job_deletion_duration_seconds",
    help: "How long after its time a job was deleted.",
    buckets: exponential(0.1, 2, 14),
  })();
  return ({ state: job, outcome, refused, nowMs }) => {
    const isGone = refused === undefined && writesOf(outcome).some(({ op }) => op === "delete");
    const endedAt = job === undefined || !isGone ? undefined : endOf(job)?.lastTransitionTime;
    if (job === undefined || !endedAt) return;
    const dueMs = timeToMs(endedAt) + (job.spec.ttlSecondsAfterFinished ?? 0) * 1000;
    delay.observe(Math.max(0, nowMs - dueMs) / 1000);
  };
};

function endOf({ status }: Job): JobCondition | undefined {
  return status.conditions?.find(
    ({ type, status: value }) => (type === "Complete" || type === "Failed") && value === "True",
  );
}

function actionOf(outcome: Outcome): string {
  const ofPods = writesOf(outcome).filter(({ kind }) => kind.names.kind === podKind.names.kind);
  if (ofPods.some(({ op }) => op === "create")) return "pods_created";
  return ofPods.some(({ op }) => op === "delete") ? "pods_deleted" : "reconciling";
}
