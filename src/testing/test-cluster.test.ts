import assert from "node:assert/strict";
import { test } from "vitest";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { jobKind } from "#api/kinds/batch/v1/job.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { FAILURE_ANNOTATION } from "#sim/names.ts";
import { startCluster } from "./test-cluster.ts";

const WEB = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 3
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: web, image: web }] }
`;

test("test cluster: a Deployment is scheduled and its pods are ready without time passing", async () => {
  await using cluster = await startCluster({ nodes: 3 });
  const startMs = cluster.nowMs();
  await cluster.apply(WEB);
  const pods = cluster.list(podKind, "default");
  assert.deepEqual(
    pods.map(({ status }) => status.phase),
    ["Running", "Running", "Running"],
  );
  assert.deepEqual(pods.map(({ spec }) => spec.nodeName).sort(), ["sim-0", "sim-1", "sim-2"]);
  assert.equal(cluster.get(deploymentKind, "web")?.status?.readyReplicas, 3);
  assert.equal(cluster.nowMs(), startMs);
});

test("test cluster: a Job completes after its second, a deleted Deployment takes its pods along", async () => {
  await using cluster = await startCluster();
  await cluster.apply(`${WEB}
---
apiVersion: batch/v1
kind: Job
metadata: { name: once }
spec:
  template: { spec: { restartPolicy: Never, containers: [{ name: once, image: once }] } }
`);
  assert.equal(cluster.get(jobKind, "once")?.status?.succeeded, undefined);
  await cluster.advance("3s");
  assert.equal(cluster.get(jobKind, "once")?.status?.succeeded, 1);
  await cluster.client.delete(deploymentKind, { namespace: "default", name: "web" });
  await cluster.until(() => cluster.list(podKind).length === 1, "1m");
});

test("test cluster: pods of a node that is unreachable run elsewhere after the toleration", async () => {
  await using cluster = await startCluster({ nodes: 2 });
  await cluster.apply(WEB.replace("replicas: 3", "replicas: 1"));
  const [pod] = cluster.list(podKind);
  const lost = pod?.spec.nodeName ?? "";
  await cluster.edit(nodeKind, lost, (node) => {
    node.metadata.annotations = { [FAILURE_ANNOTATION]: "unreachable" };
  });
  await cluster.advance("1m");
  const ready = cluster.get(nodeKind, lost)?.status.conditions?.find((c) => c.type === "Ready");
  assert.equal(ready?.status, "Unknown");
  await cluster.advance("6m");
  const runs = cluster.list(podKind).filter(({ status }) => status.phase === "Running");
  assert.ok(runs.some(({ spec }) => spec.nodeName !== lost));
  await cluster.edit(nodeKind, lost, (node) => void delete node.metadata.annotations);
  await cluster.advance("1m");
  assert.equal(cluster.list(podKind).length, 1, "the pod of the node that came back is removed");
  assert.equal(
    cluster.get(nodeKind, lost)?.status.conditions?.find((c) => c.type === "Ready")?.status,
    "True",
  );
});

test("startCluster: test cluster: a fork has the same objects and goes its own way", async () => {
  await using cluster = await startCluster();
  await cluster.apply(WEB);
  await using fork = await cluster.fork();
  assert.deepEqual(fork.names(podKind), cluster.names(podKind));
  await fork.apply(WEB.replace("replicas: 3", "replicas: 5"));
  assert.equal(fork.list(podKind).length, 5);
  assert.equal(cluster.list(podKind).length, 3);
});

test("test cluster: faults (dropped watches, conflicts, crashes) only delay the outcome", async () => {
  await using cluster = await startCluster();
  cluster.faults.dropWatches();
  cluster.faults.conflict(3);
  await cluster.crash("scheduler");
  await cluster.apply(WEB);
  await cluster.advance("5s");
  assert.deepEqual(
    new Set(cluster.list(podKind).map(({ spec }) => spec.nodeName)),
    new Set([undefined]),
  );
  await cluster.restart("scheduler");
  await cluster.until(
    () => cluster.list(podKind).filter(({ status }) => status.phase === "Running").length === 3,
    "1m",
  );
});

test("test cluster: kubeconfig() serves clients over HTTPS", async () => {
  await using cluster = await startCluster();
  const { KubeConfig, CoreV1Api } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  config.loadFromString(await cluster.kubeconfig());
  const nodes = await config.makeApiClient(CoreV1Api).listNode();
  assert.deepEqual(
    nodes.items.map(({ metadata }) => metadata?.name),
    ["sim-0"],
  );
});

test("test cluster: logs() shows the lines of a simulated pod, as kubectl logs does", async () => {
  await using cluster = await startCluster();
  await cluster.apply(`
apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations: { sim.k8ts.io/logs: "{\\"n\\":1.0}\\nsecond" }
spec: { containers: [{ name: web, image: web }] }
`);
  assert.equal(await cluster.logs("web"), '{"n":1.0}\nsecond\n');
  assert.equal(await cluster.logs("web", { tailLines: 1 }), "second\n");
  await assert.rejects(cluster.logs("none"), /pods "none" not found/);
  await cluster.restart("nodes");
  assert.equal(await cluster.logs("web", { container: "web", tailLines: 1 }), "second\n");
});
