/** Deletes a finished Job once its time to live has passed. */

import type { Job } from "#api/generated/batch.v1.ts";
import { jobKind } from "#api/kinds/batch/v1/job.ts";
import { timeToMs } from "#api/meta/time.ts";
import { defineController, idle, type Outcome, ownKey, recheckIn } from "#runtime/controller.ts";
import { deleteUnchanged } from "#runtime/writes.ts";
import { measureExpiredJobs } from "./metrics/jobs.ts";

export const ttlAfterFinished = defineController<Job | undefined>({
  name: "ttl-after-finished-controller",
  rule: "a finished Job is deleted when ttlSecondsAfterFinished has passed",
  feeds: [{ kind: jobKind, keys: ownKey }],
  observe: (caches, { namespace, name }) => caches(jobKind).get(namespace, name),
  decide,
  measure: measureExpiredJobs,
});

function decide(job: Job | undefined, nowMs: number): Outcome {
  if (job === undefined || job.metadata.deletionTimestamp !== undefined) return idle;
  const expiryMs = expiryOf(job);
  if (expiryMs === undefined) return idle;
  if (nowMs < expiryMs) return recheckIn(expiryMs - nowMs);
  // Had the Job changed since, the server answers Conflict and the key is tried again.
  return { writes: [deleteUnchanged(jobKind, job, { propagation: "Foreground" })] };
}

function expiryOf({ spec, status }: Job): number | undefined {
  const finished = status.conditions?.find(
    ({ type, status: value }) => (type === "Complete" || type === "Failed") && value === "True",
  );
  if (!finished?.lastTransitionTime || spec.ttlSecondsAfterFinished === undefined) return undefined;
  return timeToMs(finished.lastTransitionTime) + spec.ttlSecondsAfterFinished * 1000;
}
