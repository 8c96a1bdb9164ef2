import assert from "node:assert/strict";
import { test } from "vitest";
import type { Job } from "#api/generated/batch.v1.ts";
import { jobKind } from "#api/kinds/batch/v1/job.ts";
import { type Draft, startCluster } from "#testing/cluster.ts";
import { ttlAfterFinished } from "./ttl-after-finished.ts";

const FINISHED_AT = "2030-01-01T00:00:00Z";
const DAY_SECONDS = 86_400;

const cases = [
  { name: "kept until the last moment", ttl: 60, waitMs: 59_999, left: true },
  { name: "deleted when the time is up", ttl: 60, waitMs: 60_000, left: false },
  { name: "a ttl of zero deletes at once", ttl: 0, waitMs: 0, left: false },
  { name: "no ttl, no end", ttl: undefined, waitMs: 10 * DAY_SECONDS * 1000, left: true },
  { name: "two days", ttl: 2 * DAY_SECONDS, waitMs: 2 * DAY_SECONDS * 1000, left: false },
];

for (const { name, ttl, waitMs, left } of cases) {
  test(`ttlAfterFinished: ttl after finished: ${name}`, async () => {
    await using cluster = await startCluster({ at: FINISHED_AT, controllers: [ttlAfterFinished] });
    await cluster.seed(jobKind, finishedJob(ttl));
    await cluster.advance(waitMs);
    assert.equal(isLeft(cluster.get(jobKind, "report")), left);
  });
}

test("ttl after finished: a ttl raised in time keeps the job, one that runs has none", async () => {
  await using cluster = await startCluster({ at: FINISHED_AT, controllers: [ttlAfterFinished] });
  await cluster.seed(jobKind, finishedJob(60));
  await cluster.seed(jobKind, { ...finishedJob(0), metadata: { name: "running" }, status: {} });
  await cluster.advance(30_000);
  await cluster.edit(jobKind, "report", (job) => void (job.spec.ttlSecondsAfterFinished = 90));
  await cluster.advance(59_999);
  assert.equal(isLeft(cluster.get(jobKind, "report")), true);
  await cluster.advance(1);
  assert.equal(isLeft(cluster.get(jobKind, "report")), false);
  assert.equal(isLeft(cluster.get(jobKind, "running")), true);
});

/** Foreground deletion leaves a Job to the garbage collector. */
function isLeft(job: Job | undefined): boolean {
  return job !== undefined && job.metadata.deletionTimestamp === undefined;
}

function finishedJob(ttlSecondsAfterFinished: number | undefined): Draft<Job> {
  return {
    metadata: { name: "report" },
    spec: {
      ...(ttlSecondsAfterFinished === undefined ? {} : { ttlSecondsAfterFinished }),
      template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } },
    },
    status: { conditions: [{ type: "Complete", status: "True", lastTransitionTime: FINISHED_AT }] },
  };
}
