/** A year of a CronJob in seconds: every run is there, at its time, and the history stays bounded. */
import assert from "node:assert/strict";
import { builtInKind, startCluster } from "k8ts/testing";
import { test } from "vitest";

interface CronJob {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: { readonly name?: string };
  readonly status?: { readonly lastScheduleTime?: string; readonly lastSuccessfulTime?: string };
}

const cronJobKind = builtInKind<CronJob>("batch/v1", "CronJob");
const jobKind = builtInKind("batch/v1", "Job");

const BACKUP = `
apiVersion: batch/v1
kind: CronJob
metadata: { name: backup }
spec:
  schedule: "30 2 * * 0"
  timeZone: Europe/Zurich
  successfulJobsHistoryLimit: 2
  jobTemplate:
    spec:
      template:
        metadata: { annotations: { sim.k8ts.io/run-for: 20m } }
        spec: { restartPolicy: Never, containers: [{ name: backup, image: backup }] }
`;

test("the example of a year: a CronJob runs every Sunday night, through both changes of the clocks", async () => {
  const cluster = await startCluster({ at: "2030-01-01T00:00:00Z", heartbeat: "24h" });
  try {
    await cluster.apply(BACKUP);
    const times = new Set<string>();
    for (let week = 0; week < 52; week++) {
      await cluster.advance("168h");
      times.add(cluster.get(cronJobKind, "backup")?.status?.lastScheduleTime ?? "");
      assert.ok(cluster.list(jobKind).length <= 3, `week ${week}`);
    }
    // On 31 March the clocks go from 02:00 to 03:00: there is no 02:30, and Kubernetes skips it.
    assert.equal(times.size, 51);
    assert.ok(times.has("2030-06-16T00:30:00Z"), "02:30 in summer is 00:30 UTC");
    assert.ok(times.has("2030-12-15T01:30:00Z"), "02:30 in winter is 01:30 UTC");
  } finally {
    await cluster[Symbol.asyncDispose]();
  }
});
