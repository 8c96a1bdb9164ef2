import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Job, JobSpec } from "#api/generated/batch.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { jobKind } from "#api/kinds/batch/v1/job.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { completed } from "#testing/build.ts";
import { type Cluster, type Draft, startCluster } from "#testing/cluster.ts";
import { jobController } from "./job.ts";

const AT = "2030-01-01T00:00:00Z";
const FINALIZER = "batch.kubernetes.io/job-tracking";
const INDEX = "batch.kubernetes.io/job-completion-index";

async function start(spec: Draft<JobSpec> = {}): Promise<Cluster> {
  const cluster = await startCluster({ at: AT, controllers: [jobController] });
  const created = await cluster.client.create(
    jobKind,
    completed(jobKind, {
      metadata: { name: "report", namespace: "default" },
      spec: {
        template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } },
        ...spec,
      },
    }),
  );
  assert.ok(created.ok, JSON.stringify(created));
  await cluster.settle();
  return cluster;
}

const job = (cluster: Cluster): Job => cluster.get(jobKind, "report")!;
const active = (cluster: Cluster): readonly Pod[] =>
  cluster
    .list(podKind)
    .filter(
      ({ metadata, status }) =>
        metadata.deletionTimestamp === undefined &&
        status.phase !== "Succeeded" &&
        status.phase !== "Failed",
    );
const indexOf = ({ metadata }: Pod): string => metadata.annotations?.[INDEX] ?? "";
const types = (cluster: Cluster): readonly string[] =>
  (job(cluster).status.conditions ?? []).map(({ type, status, reason }) =>
    [type, status, reason].join(" "),
  );

async function end(cluster: Cluster, pod: Pod, exitCode: number): Promise<void> {
  const finishedAt = timeFromMs(cluster.clock.nowMs());
  await cluster.edit(podKind, pod.metadata.name ?? "", (draft) => {
    draft.status.phase = exitCode === 0 ? "Succeeded" : "Failed";
    draft.status.containerStatuses = [
      {
        name: "c",
        state: { terminated: { exitCode, finishedAt } },
        lastState: {},
        ready: false,
        restartCount: 0,
        image: "i",
        imageID: "",
      },
    ];
  });
}

async function run(cluster: Cluster, pod: Pod): Promise<void> {
  const lastTransitionTime = timeFromMs(cluster.clock.nowMs());
  await cluster.edit(podKind, pod.metadata.name ?? "", (draft) => {
    draft.spec.nodeName = "node";
    draft.status.phase = "Running";
    draft.status.conditions = [{ type: "Ready", status: "True", lastTransitionTime }];
  });
}

async function finishDeletes(cluster: Cluster): Promise<void> {
  for (const { metadata } of cluster.list(podKind)) {
    if (metadata.deletionTimestamp === undefined) continue;
    const key = { namespace: "default", name: metadata.name ?? "" };
    await cluster.client.delete(podKind, key, { gracePeriodSeconds: 0 });
  }
  await cluster.settle();
}

describe("job", () => {
  test("runs as many at once as it may until all have completed", async () => {
    await using cluster = await start({ completions: 3, parallelism: 2 });
    const [first, second] = active(cluster);
    assert.equal(active(cluster).length, 2);
    assert.deepEqual(first?.metadata.finalizers, [FINALIZER]);
    assert.match(first?.metadata.name ?? "", /^report-[a-z0-9]{5}$/);
    await run(cluster, first!);
    assert.deepEqual(job(cluster).status, {
      active: 2,
      ready: 1,
      terminating: 0,
      startTime: AT,
      uncountedTerminatedPods: {},
    });
    await cluster.advance(60_000);
    await end(cluster, first!, 0);
    assert.equal(active(cluster).length, 2);
    assert.equal(cluster.get(podKind, first!.metadata.name!)?.metadata.finalizers, undefined);
    assert.equal(job(cluster).status.succeeded, 1);
    await end(cluster, second!, 0);
    assert.equal(active(cluster).length, 1);
    await end(cluster, active(cluster)[0]!, 0);
    const { status } = job(cluster);
    assert.deepEqual(types(cluster), [
      "SuccessCriteriaMet True CompletionsReached",
      "Complete True CompletionsReached",
    ]);
    assert.equal(status.completionTime, "2030-01-01T00:01:00Z");
    assert.deepEqual([status.active, status.succeeded, status.failed], [undefined, 3, undefined]);
    assert.deepEqual(status.uncountedTerminatedPods, {});
    assert.equal(cluster.events.at(-1)?.message, "Job completed");
  });

  test("failures are made up for after a pause that doubles, up to the limit", async () => {
    await using cluster = await start({ backoffLimit: 2 });
    for (const pauseMs of [10_000, 20_000]) {
      await end(cluster, active(cluster)[0]!, 1);
      assert.equal(active(cluster).length, 0);
      await cluster.advance(pauseMs - 1_000);
      assert.equal(active(cluster).length, 0);
      await cluster.advance(1_000);
      assert.equal(active(cluster).length, 1);
    }
    await end(cluster, active(cluster)[0]!, 1);
    assert.deepEqual(types(cluster), [
      "FailureTarget True BackoffLimitExceeded",
      "Failed True BackoffLimitExceeded",
    ]);
    assert.equal(job(cluster).status.failed, 3);
    assert.equal(cluster.events.at(-1)?.reason, "BackoffLimitExceeded");
    await cluster.advance(3_600_000);
    assert.equal(active(cluster).length, 0);
  });

  test("a pod that is deleted counts as failed", async () => {
    await using cluster = await start();
    const [pod] = active(cluster);
    await run(cluster, pod!);
    await cluster.client.delete(podKind, { namespace: "default", name: pod!.metadata.name! });
    await cluster.settle();
    assert.equal(job(cluster).status.failed, 1);
    assert.equal(job(cluster).status.terminating, 1);
    await finishDeletes(cluster);
    await cluster.advance(10_000);
    assert.equal(active(cluster).length, 1);
  });

  test("the deadline ends what runs; the end waits until it has stopped", async () => {
    await using cluster = await start({ activeDeadlineSeconds: 3600, parallelism: 1 });
    await run(cluster, active(cluster)[0]!);
    await cluster.advance(3_599_000);
    assert.equal(active(cluster).length, 1);
    await cluster.advance(1_000);
    assert.deepEqual(types(cluster), ["FailureTarget True DeadlineExceeded"]);
    assert.equal(job(cluster).status.terminating, 1);
    await finishDeletes(cluster);
    assert.deepEqual(types(cluster), [
      "FailureTarget True DeadlineExceeded",
      "Failed True DeadlineExceeded",
    ]);
    assert.equal(job(cluster).status.failed, 1);
  });

  test("suspended: pods go uncounted; resumed: the clock starts again", async () => {
    await using cluster = await start({ activeDeadlineSeconds: 60, parallelism: 2 });
    await cluster.edit(jobKind, "report", (draft) => void (draft.spec.suspend = true));
    assert.equal(active(cluster).length, 0);
    assert.deepEqual(types(cluster), ["Suspended True JobSuspended"]);
    assert.deepEqual(
      [job(cluster).status.startTime, job(cluster).status.failed],
      [undefined, undefined],
    );
    await cluster.advance(86_400_000);
    await cluster.edit(jobKind, "report", (draft) => void (draft.spec.suspend = false));
    assert.deepEqual(types(cluster), ["Suspended False JobResumed"]);
    assert.equal(job(cluster).status.startTime, "2030-01-02T00:00:00Z");
    assert.equal(active(cluster).length, 2);
    await cluster.advance(59_000);
    assert.deepEqual(types(cluster), ["Suspended False JobResumed"]);
  });

  test("a work queue is done when one pod succeeds and the rest has ended", async () => {
    await using cluster = await start({ parallelism: 3 });
    assert.equal(job(cluster).spec.completions, undefined);
    const [first, second, third] = active(cluster);
    await end(cluster, first!, 0);
    assert.equal(active(cluster).length, 2);
    await end(cluster, second!, 0);
    assert.deepEqual(types(cluster), []);
    await end(cluster, third!, 0);
    assert.equal(job(cluster).status.succeeded, 3);
    assert.equal(types(cluster).at(-1), "Complete True CompletionsReached");
  });

  test("restarts within a pod count against the limit", async () => {
    await using cluster = await start({
      backoffLimit: 3,
      template: { spec: { restartPolicy: "OnFailure", containers: [{ name: "c", image: "i" }] } },
    });
    const name = active(cluster)[0]!.metadata.name!;
    const restarted = (restartCount: number): Promise<Pod> =>
      cluster.edit(podKind, name, (pod) => {
        pod.status.phase = "Running";
        const rest = { ready: false, image: "i", imageID: "", state: {}, lastState: {} };
        pod.status.containerStatuses = [{ name: "c", restartCount, ...rest }];
      });
    await restarted(2);
    assert.deepEqual(types(cluster), []);
    await restarted(3);
    assert.equal(types(cluster).at(-1), "Failed True BackoffLimitExceeded");
  });

  test("another controller's jobs are left alone", async () => {
    await using cluster = await start({ managedBy: "example.com/other" });
    assert.equal(active(cluster).length, 0);
    assert.deepEqual(job(cluster).status, {});
  });

  test("fewer at once: the surplus goes uncounted", async () => {
    await using cluster = await start({ completions: 5, parallelism: 3 });
    await cluster.edit(jobKind, "report", (draft) => void (draft.spec.parallelism = 1));
    assert.equal(active(cluster).length, 1);
    assert.equal(cluster.list(podKind).length, 1);
    assert.deepEqual([job(cluster).status.active, job(cluster).status.failed], [1, undefined]);
  });

  test("pods that cannot be made do not keep others from being counted", async () => {
    await using cluster = await start({ completions: 4, parallelism: 2 });
    await cluster.edit(jobKind, "report", (draft) => {
      draft.spec.template.spec.containers![0]!.name = "Not_A_Name";
    });
    const [first, second] = active(cluster);
    await end(cluster, first!, 0);
    assert.deepEqual([job(cluster).status.active, active(cluster).length], [1, 1]);
    assert.ok(cluster.events.some(({ reason }) => reason === "FailedCreate"));
    await cluster.advance(100);
    assert.equal(job(cluster).status.succeeded, 1);
    await cluster.edit(jobKind, "report", (draft) => {
      draft.spec.template.spec.containers![0]!.name = "c";
    });
    await cluster.advance(60_000);
    assert.equal(active(cluster).length, 2);
    assert.ok(active(cluster).some(({ metadata }) => metadata.name === second!.metadata.name));
  });

  test("takes up pods that match its selector, and lets go of those that do not", async () => {
    await using cluster = await start({
      manualSelector: true,
      selector: { matchLabels: { app: "report" } },
      template: {
        metadata: { labels: { app: "report" } },
        spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] },
      },
    });
    const name = active(cluster)[0]!.metadata.name!;
    await cluster.edit(podKind, name, (draft) => void (draft.metadata.labels = { app: "other" }));
    assert.equal(cluster.get(podKind, name)?.metadata.ownerReferences, undefined);
    assert.equal(cluster.get(podKind, name)?.metadata.finalizers, undefined);
    const [other] = active(cluster).filter(({ metadata }) => metadata.name !== name);
    await end(cluster, other!, 0);
    assert.equal(types(cluster).at(-1), "Complete True CompletionsReached");
  });

  test("pods of a job that is gone lose the finalizer", async () => {
    await using cluster = await start();
    const name = active(cluster)[0]!.metadata.name!;
    await cluster.client.delete(
      jobKind,
      { namespace: "default", name: "report" },
      { propagation: "Background" },
    );
    await cluster.settle();
    assert.equal(cluster.get(jobKind, "report"), undefined);
    assert.equal(cluster.get(podKind, name)?.metadata.finalizers, undefined);
  });
});

describe("indexed job", () => {
  test("each index has a pod that knows it, and one success", async () => {
    await using cluster = await start({
      completionMode: "Indexed",
      completions: 4,
      parallelism: 4,
    });
    const pods = [...active(cluster)].sort((a, b) => (indexOf(a) < indexOf(b) ? -1 : 1));
    assert.deepEqual(pods.map(indexOf), ["0", "1", "2", "3"]);
    assert.match(pods[2]!.metadata.name!, /^report-2-[a-z0-9]{5}$/);
    assert.equal(pods[2]!.spec.hostname, "report-2");
    assert.equal(pods[2]!.metadata.labels?.[INDEX], "2");
    assert.deepEqual(pods[2]!.spec.containers?.[0]?.env?.[0]?.name, "JOB_COMPLETION_INDEX");
    for (const i of [0, 2, 3]) await end(cluster, pods[i]!, 0);
    assert.deepEqual(
      [job(cluster).status.completedIndexes, job(cluster).status.succeeded],
      ["0,2,3", 3],
    );
    await end(cluster, pods[1]!, 0);
    assert.equal(job(cluster).status.completedIndexes, "0-3");
    assert.equal(types(cluster).at(-1), "Complete True CompletionsReached");
  });

  test("a success policy ends the job early and stops the rest", async () => {
    await using cluster = await start({
      completionMode: "Indexed",
      completions: 5,
      parallelism: 5,
      successPolicy: { rules: [{ succeededIndexes: "1-3", succeededCount: 2 }] },
    });
    const byIndex = new Map(active(cluster).map((pod) => [indexOf(pod), pod]));
    await end(cluster, byIndex.get("0")!, 0);
    await end(cluster, byIndex.get("1")!, 0);
    assert.deepEqual(types(cluster), []);
    await end(cluster, byIndex.get("3")!, 0);
    assert.deepEqual(types(cluster), [
      "SuccessCriteriaMet True SuccessPolicy",
      "Complete True SuccessPolicy",
    ]);
    assert.equal(active(cluster).length, 0);
    assert.deepEqual([job(cluster).status.succeeded, job(cluster).status.failed], [3, undefined]);
  });

  test("limits per index: an index that fails too often fails, the others go on", async () => {
    await using cluster = await start({
      completionMode: "Indexed",
      completions: 2,
      parallelism: 2,
      backoffLimitPerIndex: 1,
    });
    const ofIndex = (index: string): Pod =>
      active(cluster).find((pod) => indexOf(pod) === index) ?? assert.fail(`no pod ${index}`);
    await end(cluster, ofIndex("0"), 1);
    assert.equal(active(cluster).length, 1);
    await cluster.advance(10_000);
    assert.equal(
      ofIndex("0").metadata.annotations?.["batch.kubernetes.io/job-index-failure-count"],
      "1",
    );
    await end(cluster, ofIndex("0"), 1);
    assert.equal(job(cluster).status.failedIndexes, "0");
    await cluster.advance(600_000);
    assert.deepEqual(active(cluster).map(indexOf), ["1"]);
    await end(cluster, ofIndex("1"), 0);
    const { status } = job(cluster);
    assert.deepEqual([status.completedIndexes, status.failedIndexes, status.failed], ["1", "0", 2]);
    assert.equal(types(cluster).at(-1), "Failed True FailedIndexes");
  });

  test("too many failed indexes fail the job", async () => {
    await using cluster = await start({
      completionMode: "Indexed",
      completions: 3,
      parallelism: 3,
      backoffLimitPerIndex: 0,
      maxFailedIndexes: 1,
    });
    const [first, second] = active(cluster);
    await end(cluster, first!, 1);
    assert.deepEqual(types(cluster), []);
    await end(cluster, second!, 1);
    assert.equal(types(cluster).at(-1), "Failed True MaxFailedIndexesExceeded");
    assert.equal(active(cluster).length, 0);
  });
});

describe("pod failure policy", () => {
  const policy: Draft<JobSpec> = {
    backoffLimit: 0,
    podFailurePolicy: {
      rules: [
        { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] },
        { action: "Ignore", onExitCodes: { operator: "In", values: [7] } },
        { action: "FailJob", onExitCodes: { containerName: "c", operator: "In", values: [42] } },
      ],
    },
  };

  test("ignored failures do not count", async () => {
    await using cluster = await start(policy);
    await end(cluster, active(cluster)[0]!, 7);
    await cluster.advance(10_000);
    assert.equal(active(cluster).length, 1);
    assert.deepEqual([job(cluster).status.failed, types(cluster)], [undefined, []]);
  });

  test("one exit code fails the job at once, whatever the limit", async () => {
    await using cluster = await start({ ...policy, backoffLimit: 6 });
    const [pod] = active(cluster);
    await end(cluster, pod!, 42);
    assert.equal(
      job(cluster).status.conditions?.at(-1)?.message,
      `Container c for pod default/${pod!.metadata.name} failed with exit code 42 matching FailJob rule at index 2`,
    );
    assert.equal(types(cluster).at(-1), "Failed True PodFailurePolicy");
  });

  test("a pod on its way out is replaced only when it has failed", async () => {
    await using cluster = await start({ podReplacementPolicy: "Failed" });
    const [pod] = active(cluster);
    await run(cluster, pod!);
    await cluster.client.delete(podKind, { namespace: "default", name: pod!.metadata.name! });
    await cluster.advance(60_000);
    assert.equal(active(cluster).length, 0);
    assert.deepEqual([job(cluster).status.failed, job(cluster).status.terminating], [undefined, 1]);
    await end(cluster, pod!, 137);
    await cluster.advance(10_000);
    assert.equal(active(cluster).length, 1);
    assert.equal(job(cluster).status.failed, 1);
  });
});
