import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { CronJob, CronJobSpec } from "#api/generated/batch.v1.ts";
import { cronJobKind } from "#api/kinds/batch/v1/cron-job.ts";
import { jobKind } from "#api/kinds/batch/v1/job.ts";
import { timeFromMs, timeToMs } from "#api/meta/time.ts";
import { completed } from "#testing/build.ts";
import { type Cluster, type Draft, startCluster } from "#testing/cluster.ts";
import { cronJobController } from "./cron-job.ts";

const AT = "2030-01-01T00:30:00Z";
const HOUR_MS = 3_600_000;

async function start(spec: Draft<CronJobSpec> = {}, at = AT): Promise<Cluster> {
  const cluster = await startCluster({ at, controllers: [cronJobController] });
  const template = {
    spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] },
  } as const;
  const created = await cluster.client.create(
    cronJobKind,
    completed(cronJobKind, {
      metadata: { name: "report", namespace: "default" },
      spec: {
        schedule: "0 * * * *",
        jobTemplate: { metadata: { labels: { app: "report" } }, spec: { template } },
        ...spec,
      },
    }),
  );
  assert.ok(created.ok, JSON.stringify(created));
  await cluster.settle();
  return cluster;
}

const jobNameAt = (time: string): string => `report-${timeToMs(time) / 60_000}`;
const status = (cluster: Cluster): CronJob["status"] => cluster.get(cronJobKind, "report")!.status;
const reasons = (cluster: Cluster): readonly string[] => cluster.events.map(({ reason }) => reason);

async function finish(cluster: Cluster, name: string, type: "Complete" | "Failed"): Promise<void> {
  const now = timeFromMs(cluster.clock.nowMs());
  await cluster.edit(jobKind, name, (job) => {
    job.status.startTime ??= now;
    if (type === "Complete") job.status.completionTime = now;
    job.status.conditions = [{ type, status: "True", lastTransitionTime: now }];
  });
}

describe("cron job", () => {
  test("creates a Job when it is due, and records SuccessfulCreate", async () => {
    await using cluster = await start();
    await cluster.advance(HOUR_MS / 2);
    assert.deepEqual(cluster.names(jobKind), []);
    await cluster.advance(100);
    const name = jobNameAt("2030-01-01T01:00:00Z");
    assert.deepEqual(cluster.names(jobKind), [name]);
    const job = cluster.get(jobKind, name)!;
    assert.equal(job.metadata.labels?.app, "report");
    assert.equal(
      job.metadata.annotations?.["batch.kubernetes.io/cronjob-scheduled-timestamp"],
      "2030-01-01T01:00:00Z",
    );
    assert.equal(status(cluster).lastScheduleTime, "2030-01-01T01:00:00Z");
    assert.deepEqual(
      status(cluster).active?.map((reference) => reference.name),
      [name],
    );
    await finish(cluster, name, "Complete");
    assert.deepEqual(status(cluster), {
      lastScheduleTime: "2030-01-01T01:00:00Z",
      lastSuccessfulTime: "2030-01-01T01:00:00Z",
    });
    assert.deepEqual(
      cluster.events.map(({ message }) => message),
      [`Created job ${name}`, `Saw completed job: ${name}, condition: Complete`],
    );
  });

  test("two days of hours: one job each, the history limited", async () => {
    await using cluster = await start({ successfulJobsHistoryLimit: 2, failedJobsHistoryLimit: 1 });
    await cluster.advance(HOUR_MS / 2 + 100);
    for (let hour = 0; hour < 2 * 24; hour++) {
      const running = status(cluster).active ?? [];
      assert.equal(running.length, 1);
      await finish(cluster, running[0]!.name!, hour % 10 === 0 ? "Failed" : "Complete");
      await cluster.advance(HOUR_MS);
    }
    assert.equal(cluster.names(jobKind).length, 4);
    const created = cluster.events.filter(({ reason }) => reason === "SuccessfulCreate");
    assert.equal(new Set(created.map(({ message }) => message)).size, 2 * 24 + 1);
  });

  test("Forbid waits for the job that runs, Allow does not", async () => {
    for (const [concurrencyPolicy, count] of [
      ["Forbid", 1],
      ["Allow", 3],
    ] as const) {
      await using cluster = await start({ concurrencyPolicy });
      await cluster.advance(3 * HOUR_MS);
      assert.equal(cluster.names(jobKind).length, count);
      assert.equal(status(cluster).active?.length, count);
      assert.equal(reasons(cluster).includes("JobAlreadyActive"), concurrencyPolicy === "Forbid");
    }
  });

  test("Replace ends the job that runs", async () => {
    await using cluster = await start({ concurrencyPolicy: "Replace" });
    await cluster.advance(2 * HOUR_MS);
    const name = jobNameAt("2030-01-01T02:00:00Z");
    assert.deepEqual(cluster.names(jobKind), [name]);
    assert.deepEqual(
      status(cluster).active?.map((reference) => reference.name),
      [name],
    );
    assert.ok(reasons(cluster).includes("SuccessfulDelete"));
  });

  test("suspended it starts nothing; resumed it makes up for the latest start only", async () => {
    await using cluster = await start({ suspend: true });
    await cluster.advance(10 * HOUR_MS);
    assert.deepEqual(cluster.names(jobKind), []);
    await cluster.edit(cronJobKind, "report", (draft) => void (draft.spec.suspend = false));
    assert.deepEqual(cluster.names(jobKind), [jobNameAt("2030-01-01T10:00:00Z")]);
  });

  test("after more than a hundred missed starts it warns and starts one", async () => {
    await using cluster = await start({ suspend: true, schedule: "* * * * *" });
    await cluster.advance(5 * HOUR_MS);
    await cluster.edit(cronJobKind, "report", (draft) => void (draft.spec.suspend = false));
    assert.equal(cluster.names(jobKind).length, 1);
    assert.ok(reasons(cluster).includes("TooManyMissedTimes"));
  });

  test("in the zone it is given, through the change of clocks", async () => {
    const spec = { schedule: "30 2 * * *", timeZone: "Europe/Berlin" };
    await using cluster = await start(spec, "2030-03-29T00:00:00Z");
    await cluster.advance(2 * 24 * HOUR_MS);
    // On 31 March 02:30 does not exist.
    const times = cluster.events
      .filter(({ reason }) => reason === "SuccessfulCreate")
      .map(({ message }) => timeFromMs(Number(message.split("-").at(-1)) * 60_000));
    assert.deepEqual(times, ["2030-03-29T01:30:00Z", "2030-03-30T01:30:00Z"]);
    const job = cluster.get(jobKind, jobNameAt("2030-03-30T01:30:00Z"))!;
    assert.equal(
      job.metadata.annotations?.["batch.kubernetes.io/cronjob-scheduled-timestamp"],
      "2030-03-30T02:30:00+01:00",
    );
    await cluster.advance(2 * 24 * HOUR_MS);
    assert.equal(status(cluster).lastScheduleTime, "2030-04-01T00:30:00Z");
  });

  test("a new schedule makes up for nothing that it would have had before", async () => {
    await using cluster = await start({ schedule: "0 0 1 6 *" });
    await cluster.advance(5 * HOUR_MS);
    await cluster.edit(cronJobKind, "report", (draft) => void (draft.spec.schedule = "0 * * * *"));
    assert.deepEqual(cluster.names(jobKind), []);
    await cluster.advance(HOUR_MS);
    assert.deepEqual(cluster.names(jobKind), [jobNameAt("2030-01-01T06:00:00Z")]);
  });

  test("an active job that disappears is taken off the list", async () => {
    await using cluster = await start();
    await cluster.advance(HOUR_MS);
    const [name = ""] = cluster.names(jobKind);
    await cluster.client.delete(
      jobKind,
      { namespace: "default", name },
      { propagation: "Background" },
    );
    await cluster.settle();
    assert.equal(status(cluster).active, undefined);
    assert.equal(cluster.events.at(-1)?.message, `Active job went missing: ${name}`);
  });

  test("a schedule that never fires records InvalidSchedule", async () => {
    await using cluster = await start({ schedule: "0 0 30 2 *" });
    assert.deepEqual(reasons(cluster), ["InvalidSchedule"]);
    await cluster.advance(24 * HOUR_MS);
    assert.deepEqual(cluster.names(jobKind), []);
  });
});
