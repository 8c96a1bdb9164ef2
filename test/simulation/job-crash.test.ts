/**
 * Controllers that die while Jobs, CronJobs, DaemonSets and Services are looked after: each pod that
 * ended is counted exactly once, each start of a CronJob makes one Job, each node has one daemon.
 */
import assert from "node:assert/strict";
import { test } from "vitest";
import { daemonSetKind } from "#api/kinds/apps/v1/daemon-set.ts";
import { cronJobKind } from "#api/kinds/batch/v1/cron-job.ts";
import { jobKind } from "#api/kinds/batch/v1/job.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { completed } from "#testing/build.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { Mortal } from "./mortal.ts";

const containers = [{ name: "c", image: "one" }];
const jobTemplate = { spec: { restartPolicy: "Never", containers } };

/** Ends or runs every pod that waits, as kubelets would: of the Job "work" the second pod fails. */
async function beKubelet(cluster: Cluster): Promise<void> {
  const now = timeFromMs(cluster.clock.nowMs());
  const waiting = cluster
    .list(podKind)
    .filter(({ metadata, status }) => {
      const isRunning = status.phase === "Running";
      return metadata.deletionTimestamp === undefined && !isRunning && status.phase === "Pending";
    })
    .sort((a, b) => ((a.metadata.generateName ?? "") < (b.metadata.generateName ?? "") ? -1 : 1));
  for (const pod of waiting) {
    const isJob = pod.metadata.labels?.["job-name"] !== undefined;
    const fails = isJob && pod.metadata.generateName === "work-1-" && !(await hasFailed(cluster));
    await cluster.edit(podKind, pod.metadata.name ?? "", (draft) => {
      draft.spec.nodeName = "n1";
      draft.status.phase = isJob ? (fails ? "Failed" : "Succeeded") : "Running";
      draft.status.podIP = "10.0.0.1";
      draft.status.podIPs = [{ ip: "10.0.0.1" }];
      const status = isJob ? "False" : "True";
      draft.status.conditions = [{ type: "Ready", status, lastTransitionTime: now }];
    });
  }
}

async function hasFailed(cluster: Cluster): Promise<boolean> {
  return cluster.list(podKind).some(({ status }) => status.phase === "Failed");
}

function summary(cluster: Cluster): unknown {
  return {
    jobs: cluster
      .list(jobKind)
      .map(({ metadata, status }) => [
        metadata.name,
        status.succeeded,
        status.failed,
        status.completedIndexes,
        status.uncountedTerminatedPods,
        status.conditions?.map(({ type }) => type),
      ])
      .sort(),
    tracked: cluster.list(podKind).filter(({ metadata }) => metadata.finalizers !== undefined)
      .length,
    starts: cluster.get(cronJobKind, "tick")?.status.lastScheduleTime,
    daemons: cluster.get(daemonSetKind, "agent")?.status.numberReady,
    pods: cluster.list(podKind).length,
    slices: cluster.list(endpointSliceKind).map(({ endpoints }) => endpoints?.length ?? 0),
  };
}

async function story(diesAt: number): Promise<{ end: unknown; writes: number }> {
  await using cluster = await startCluster({ at: "2030-01-01T00:00:30Z" });
  const first = new Mortal(cluster, diesAt);
  let current = first;
  const goOn = async (): Promise<void> => {
    await cluster.advance(1_000);
    if (!current.isDead) return;
    await current.end();
    current = new Mortal(cluster, Number.POSITIVE_INFINITY);
    await cluster.advance(1_000);
  };
  await cluster.seed(namespaceKind, { metadata: { name: "default" } });
  await cluster.seed(nodeKind, { metadata: { name: "n1" } });
  await cluster.seed(serviceKind, {
    metadata: { name: "agent" },
    spec: { clusterIP: "None", selector: { app: "agent" }, ipFamilies: ["IPv4"] },
  });
  await goOn();
  await cluster.seed(daemonSetKind, {
    metadata: { name: "agent", generation: 1 },
    spec: {
      selector: { matchLabels: { app: "agent" } },
      template: { metadata: { labels: { app: "agent" } }, spec: { containers } },
    },
  });
  await cluster.client.create(
    jobKind,
    completed(jobKind, {
      metadata: { name: "work", namespace: "default" },
      spec: { completionMode: "Indexed", completions: 3, parallelism: 3, template: jobTemplate },
    }),
  );
  await cluster.seed(cronJobKind, {
    metadata: { name: "tick" },
    spec: { schedule: "* * * * *", jobTemplate: { spec: { template: jobTemplate } } },
  });
  for (let round = 0; round < 35; round++) {
    await goOn();
    await beKubelet(cluster);
    await cluster.advance(2_000);
  }
  const end = summary(cluster);
  await current.end();
  return { end, writes: first.writes };
}

test("pods are counted once and starts made once, whichever write is the last", async () => {
  const { end: wanted, writes } = await story(Number.POSITIVE_INFINITY);
  assert.ok(writes > 20, `${writes} writes`);
  for (let diesAt = 0; diesAt < writes; diesAt += 1) {
    const { end } = await story(diesAt);
    assert.deepEqual(end, wanted, `died at write ${diesAt}`);
  }
}, 120_000);
