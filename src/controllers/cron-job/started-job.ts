/** The Jobs that a CronJob creates: their names, templates and Events. */

import type { CronJob, Job } from "#api/generated/batch.v1.ts";
import type { ObjectReference } from "#api/generated/core.v1.ts";
import { cronJobKind } from "#api/kinds/batch/v1/cron-job.ts";
import { jobKind } from "#api/kinds/batch/v1/job.ts";
import { utcOffsetMs } from "#api/kinds/batch/v1/time-zone.ts";
import { timeFromMs, timeToMs } from "#api/meta/time.ts";
import type { EventNote } from "#runtime/controller.ts";
import { create, noted, remove, type Write } from "#runtime/writes.ts";
import { controllerReference } from "../shared/ownership.ts";

const SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp";
const MINUTE_MS = 60_000;

export function createJob(cronJob: CronJob, atMs: number): Write {
  const { metadata, spec } = cronJob.spec.jobTemplate;
  const { namespace } = cronJob.metadata;
  const job: Job = {
    apiVersion: jobKind.apiVersion,
    kind: "Job",
    metadata: {
      name: jobName(cronJob, atMs),
      ...(namespace === undefined ? {} : { namespace }),
      ...(metadata.labels === undefined ? {} : { labels: metadata.labels }),
      annotations: {
        ...metadata.annotations,
        [SCHEDULED_AT]: zonedTime(atMs, cronJob.spec.timeZone ?? ""),
      },
      ownerReferences: [controllerReference(cronJobKind, cronJob)],
    },
    spec,
    status: {},
  };
  return noted(create(jobKind, job), {
    onDone: {
      about: cronJob,
      type: "Normal",
      reason: "SuccessfulCreate",
      message: "Created job {name}",
    },
    onRefused: warning(cronJob, "FailedCreate", "Error creating job: {error}"),
  });
}

export function deleteJob(cronJob: CronJob, job: Job): Write {
  return noted(remove(jobKind, job, { propagation: "Background" }), {
    onDone: {
      about: cronJob,
      type: "Normal",
      reason: "SuccessfulDelete",
      message: "Deleted job {name}",
    },
    onRefused: warning(cronJob, "FailedDelete", "Deleted job: {error}"),
  });
}

export function jobName({ metadata }: CronJob, atMs: number): string {
  return `${metadata.name}-${Math.floor(atMs / MINUTE_MS)}`;
}

export function endOf({ status }: Job): "Complete" | "Failed" | undefined {
  const end = status.conditions?.find(
    (c) => (c.type === "Complete" || c.type === "Failed") && c.status === "True",
  );
  return end?.type as "Complete" | "Failed" | undefined;
}

/** Those that have not started stand last. */
export function byStart(a: Job, b: Job): number {
  const at = ({ status }: Job): number =>
    status.startTime === undefined ? Number.MAX_VALUE : timeToMs(status.startTime);
  return at(a) - at(b) || ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1);
}

export function referenceTo({ metadata }: Job): ObjectReference {
  const { namespace = "", name = "", uid = "", resourceVersion = "" } = metadata;
  return { kind: "Job", namespace, name, uid, apiVersion: jobKind.apiVersion, resourceVersion };
}

export function warning(about: CronJob, reason: string, message: string): EventNote {
  return { about, type: "Warning", reason, message };
}

/** RFC 3339 on the clocks of a zone. */
function zonedTime(atMs: number, timeZone: string): string {
  const offsetMs = utcOffsetMs(timeZone)(atMs);
  if (offsetMs === 0) return timeFromMs(atMs);
  const minutes = Math.abs(offsetMs) / MINUTE_MS;
  const twoDigits = (n: number): string => String(Math.floor(n)).padStart(2, "0");
  const offset = `${twoDigits(minutes / 60)}:${twoDigits(minutes % 60)}`;
  return timeFromMs(atMs + offsetMs).replace("Z", `${offsetMs < 0 ? "-" : "+"}${offset}`);
}
