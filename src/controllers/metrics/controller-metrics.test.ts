/** Metrics of controllers have upstream's names, which dashboards query. */
import assert from "node:assert/strict";
import { test } from "vitest";
import { cronJobKind } from "#api/kinds/batch/v1/cron-job.ts";
import { jobKind } from "#api/kinds/batch/v1/job.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { storageClassKind } from "#api/kinds/storage/v1/storage-class.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { cronJobController } from "../cron-job/cron-job.ts";
import { jobController } from "../job/job.ts";
import { nodeEviction } from "../node-lifecycle/zones.ts";
import { persistentVolumeBinder } from "../persistent-volume/binder.ts";
import { rootCaCertPublisher } from "../root-ca-cert-publisher.ts";
import { taintEviction } from "../taint-eviction.ts";
import { ttlAfterFinished } from "../ttl-after-finished.ts";

const template = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } };

/** Series whose name begins so, without the buckets of histograms. */
function seriesOf(cluster: Cluster, prefix: string): readonly string[] {
  return cluster.metrics
    .text()
    .split("\n")
    .filter((line) => line.startsWith(prefix) && !/_bucket\{|_sum/.test(line));
}

test("jobs that end, that are looked at, and that go", async () => {
  await using cluster = await startCluster({ controllers: [jobController, ttlAfterFinished] });
  await cluster.seed(jobKind, {
    metadata: { name: "j" },
    spec: {
      ttlSecondsAfterFinished: 5,
      selector: { matchLabels: { job: "j" } },
      template: { ...template, metadata: { labels: { job: "j" } } },
    },
  });
  const [name = ""] = cluster.names(podKind);
  await cluster.edit(podKind, name, (pod) => void (pod.status.phase = "Succeeded"));
  const succeeded = 'completion_mode="NonIndexed",result="succeeded"';
  assert.deepEqual(seriesOf(cluster, "job_controller_jobs_finished"), [
    `job_controller_jobs_finished_total{${succeeded},reason="CompletionsReached"} 1`,
  ]);
  assert.ok(
    seriesOf(cluster, "job_controller_job_pods_finished").includes(
      `job_controller_job_pods_finished_total{${succeeded}} 1`,
    ),
  );
  assert.ok(
    seriesOf(cluster, "job_controller_job_syncs_total").includes(
      'job_controller_job_syncs_total{completion_mode="NonIndexed",result="success",action="pods_created"} 1',
    ),
  );
  await cluster.advance(5_000);
  const gone = "ttl_after_finished_controller_job_deletion_duration_seconds";
  assert.deepEqual(seriesOf(cluster, gone), [`${gone}_count 1`]);
});

test("how late jobs of a schedule are made", async () => {
  await using cluster = await startCluster({
    at: "2030-01-01T00:00:30Z",
    controllers: [cronJobController],
  });
  await cluster.seed(cronJobKind, {
    metadata: { name: "c", creationTimestamp: "2030-01-01T00:00:30Z" },
    spec: { schedule: "* * * * *", jobTemplate: { spec: { template } } },
  });
  await cluster.advance(60_000);
  const skew = "cronjob_controller_job_creation_skew_duration_seconds";
  assert.deepEqual(seriesOf(cluster, skew), [`${skew}_count 1`]);
});

test("zones of nodes, and who is driven off them", async () => {
  const options = { rate: 1, secondaryRate: 1, largeZoneMin: 0, unhealthyShare: 0.55 };
  await using cluster = await startCluster({ controllers: [nodeEviction(options), taintEviction] });
  const node = (name: string, status: string) =>
    cluster.seed(nodeKind, {
      metadata: { name, labels: { "topology.kubernetes.io/zone": "z" } },
      status: { conditions: [{ type: "Ready", status }] },
    });
  await node("well", "True");
  await cluster.seed(podKind, { metadata: { name: "p" }, spec: { nodeName: "lost" } });
  await node("lost", "Unknown");
  await cluster.advance(2_000);
  const zone = seriesOf(cluster, "node_collector_").filter((line) => line.includes("zone="));
  assert.deepEqual(
    zone.map((line) => line.replace(/\{.*\}/, "")),
    [
      "node_collector_evictions_total 1",
      "node_collector_unhealthy_nodes_in_zone 1",
      "node_collector_zone_health 50",
      "node_collector_zone_size 2",
    ],
  );
  const evicted = "taint_eviction_controller_pod_deletions_total";
  assert.deepEqual(seriesOf(cluster, evicted), [`${evicted} 1`]);
});

test("volumes and claims, bound or not", async () => {
  await using cluster = await startCluster({ controllers: [persistentVolumeBinder()] });
  const spec = { storageClassName: "fast", accessModes: ["ReadWriteOnce"] };
  for (const name of ["v", "w"])
    await cluster.seed(persistentVolumeKind, {
      metadata: { name },
      spec: { ...spec, capacity: { storage: "1Gi" }, hostPath: { path: "/d" } },
    });
  await cluster.seed(persistentVolumeClaimKind, {
    metadata: { name: "c" },
    spec: { ...spec, resources: { requests: { storage: "1Gi" } } },
  });
  assert.deepEqual(seriesOf(cluster, "pv_collector_"), [
    'pv_collector_bound_pv_count{storage_class="fast"} 1',
    'pv_collector_bound_pvc_count{namespace="default",storage_class="fast",volume_attributes_class=""} 1',
    'pv_collector_total_pv_count{plugin_name="kubernetes.io/host-path",volume_mode="Filesystem"} 2',
    'pv_collector_unbound_pv_count{storage_class="fast"} 1',
  ]);
});

test("claims that are given the default class later", async () => {
  await using cluster = await startCluster({ controllers: [persistentVolumeBinder()] });
  await cluster.seed(persistentVolumeClaimKind, {
    metadata: { name: "c" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  });
  const given = () => seriesOf(cluster, "retroactive_storageclass_total");
  assert.deepEqual(given(), ["retroactive_storageclass_total 0"]);
  const annotations = { "storageclass.kubernetes.io/is-default-class": "true" };
  await cluster.seed(storageClassKind, { metadata: { name: "s", annotations }, provisioner: "p" });
  assert.deepEqual(given(), ["retroactive_storageclass_total 1"]);
});

test("root certificates that were handed out", async () => {
  await using cluster = await startCluster({ controllers: [rootCaCertPublisher("PEM")] });
  const count = (): number =>
    Number(/_sync_total\{code="200"\} (\d+)/.exec(cluster.metrics.text())?.[1] ?? 0);
  const before = count();
  await cluster.seed(namespaceKind, { metadata: { name: "n" } });
  assert.ok(count() > before);
});
